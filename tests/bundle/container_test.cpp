// The zip container: round trip, other people's tools, damage of every byte.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "bundle/sample.h"
#include "bundle_format/reader.h"
#include "bundle_format/writer.h"
#include "catch.h"

using namespace dlcb::bundle;
using dlcb::test::Bytes;

namespace {

Error open(const Bytes& bytes) {
  std::shared_ptr<Bundle> bundle;
  return Bundle::open_memory(bytes, &bundle);
}

std::string temporary(const std::string& name) { return "/tmp/dlcb_test_" + std::to_string(::getpid()) + "_" + name; }

void save(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("a bundle reads back as written") {
  const Bytes bytes = dlcb::test::sample_bundle();
  std::shared_ptr<Bundle> bundle;
  const Error error = Bundle::open_memory(bytes, &bundle);
  INFO(error.message);
  REQUIRE_FALSE(error);
  CHECK(bundle->entries().size() == 5);
  CHECK(bundle->entries()[0].name == "manifest.json");
  for (const ZipEntry& entry : bundle->entries()) CHECK(entry.data_offset % 256 == 0);
  CHECK(bundle->weights().size() == 64);
  CHECK(bundle->weights()[63] == 63);
  CHECK(bundle->source(0).size() == 9);
  CHECK(bundle->cubin(0, "sm_90").size() == 4);
  CHECK(bundle->cubin(0, "sm_80").empty());
  CHECK(bundle->manifest() == dlcb::test::manifest_text());
  CHECK(bundle->program().inputs()->Get(0)->name()->str() == "x");
  bundle->copy_entries();
  bundle->drop_weights();
  CHECK(bundle->source(0).size() == 9);
  CHECK(bundle->weights().empty());
}

TEST_CASE("any flipped byte is refused") {
  Bytes bytes = dlcb::test::sample_bundle();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (uint8_t mask : {0x01, 0x80, 0xff}) {
      bytes[i] ^= mask;
      if (!open(bytes)) FAIL("byte " << i << " xor " << int(mask) << " went unnoticed");
      bytes[i] ^= mask;
    }
  CHECK_FALSE(open(bytes));
}

TEST_CASE("a bundle cut short or continued is refused") {
  const Bytes bytes = dlcb::test::sample_bundle();
  for (size_t n = 0; n < bytes.size(); ++n) {
    const Bytes cut(bytes.begin(),
                    bytes.begin() + static_cast<ptrdiff_t>(n));  // its own allocation: ASan sees overreads
    if (!open(cut)) FAIL("a bundle of " << n << " bytes was accepted");
  }
  Bytes longer = bytes;
  longer.push_back(0);
  CHECK(open(longer));
  longer = bytes;
  longer.insert(longer.begin(), 0);
  CHECK(open(longer));
}

TEST_CASE("bundles damaged in several places are refused without reading outside of them") {
  const Bytes original = dlcb::test::sample_bundle();
  std::mt19937 random(11);
  const size_t tail = 700;  // half of the edits go to the directory, where sizes and offsets are
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = original;
    for (int edits = 1 + static_cast<int>(random() % 8); edits > 0; --edits) {
      const size_t at = random() % 2 ? random() % bytes.size() : bytes.size() - 1 - random() % tail;
      bytes[at] = random() % 3 ? static_cast<uint8_t>(random()) : 0xff;
    }
    if (bytes != original && !open(bytes)) FAIL("round " << round << " was accepted");
  }
}

TEST_CASE("pieces are written with their padding") {
  const Bytes a = {1, 2, 3}, b = {4};
  const Piece pieces[] = {{a, 5}, {b, 70000}, {{}, 1}};
  MemorySink sink;
  BundleWriter writer(sink);
  REQUIRE_FALSE(writer.add("manifest.json", std::string_view("{}")));
  REQUIRE_FALSE(writer.add("weights.bin", std::span<const Piece>(pieces)));
  REQUIRE_FALSE(writer.finish());
  std::vector<ZipEntry> entries;
  REQUIRE_FALSE(parse_zip(sink.bytes, &entries));
  REQUIRE(entries[1].size == 70010);
  const auto data = std::span(sink.bytes).subspan(entries[1].data_offset, entries[1].size);
  CHECK(data[2] == 3);
  CHECK(data[3] == 0);
  CHECK(data[8] == 4);
  CHECK(data[70009] == 0);
  CHECK(crc32(0, data) == entries[1].crc);
}

TEST_CASE("the writer refuses names that the reader would") {
  MemorySink sink;
  BundleWriter writer(sink);
  CHECK(writer.add("program.fb", std::string_view("x")));  // the manifest comes first
  REQUIRE_FALSE(writer.add("manifest.json", std::string_view("{}")));
  CHECK(writer.add("manifest.json", std::string_view("{}")));
  for (const char* name : {"", "/a", "a/", "../a", "a/../b", "..", "a b", "a\\b", "\x80"})
    CHECK(writer.add(name, std::string_view("x")));
  CHECK_FALSE(writer.add("a..b/c", std::string_view("x")));
}

TEST_CASE("zip64 fields are written and read") {
  // A lowered threshold stands for a large file; sizes and offsets are then written in both widths.
  constexpr uint64_t kFrom = 300;
  std::vector<ZipEntry> entries(3);
  Bytes file;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Bytes data(i * 200, static_cast<uint8_t>(i));
    entries[i].name = "e" + std::to_string(i);
    entries[i].size = data.size();
    entries[i].crc = crc32(0, data);
    entries[i].header_offset = file.size();
    const Bytes header = local_header(entries[i], kFrom);
    file.insert(file.end(), header.begin(), header.end());
    entries[i].data_offset = file.size();
    CHECK(file.size() % 256 == 0);
    file.insert(file.end(), data.begin(), data.end());
  }
  const Bytes end = directory(entries, file.size(), kFrom);
  file.insert(file.end(), end.begin(), end.end());

  std::vector<ZipEntry> parsed;
  const Error error = parse_zip(file, &parsed, kFrom);
  INFO(error.message);
  REQUIRE_FALSE(error);
  REQUIRE(parsed.size() == 3);
  CHECK(parsed[2].size == 400);
  CHECK(parsed[2].data_offset == entries[2].data_offset);
  for (size_t i = 0; i < file.size() - end.size(); ++i) {
    if (i >= entries[1].data_offset && i < entries[2].header_offset)
      continue;  // data: covered by CRCs, not by parse_zip
    if (i >= entries[2].data_offset) continue;
    file[i] ^= 1;
    if (!parse_zip(file, &parsed, kFrom)) FAIL("byte " << i << " went unnoticed");
    file[i] ^= 1;
  }
  const std::string path = temporary("zip64.zip");
  save(path, file);
  const std::string script = "import zipfile; z = zipfile.ZipFile('" + path +
                             "'); assert z.testzip() is None; "
                             "assert [i.file_size for i in z.infolist()] == [0, 200, 400]";
  CHECK(std::system(("python3 -c \"" + script + "\"").c_str()) == 0);
  ::unlink(path.c_str());
}

TEST_CASE("Python's zipfile lists a bundle") {
  const std::string path = temporary("python.dlcb");
  save(path, dlcb::test::sample_bundle());
  const std::string script =
      "import zipfile; z = zipfile.ZipFile('" + path +
      "'); assert z.testzip() is None; "
      "assert z.namelist()[:2] == ['manifest.json', 'program.fb']; assert len(z.read('weights.bin')) == 64";
  CHECK(std::system(("python3 -c \"" + script + "\"").c_str()) == 0);
  ::unlink(path.c_str());
}

TEST_CASE("another version is refused in one sentence, its manifest can be read") {
  const auto program = dlcb::test::sample_program();
  const Bytes bytes = dlcb::test::make_bundle(program.program, program.finish(), dlcb::test::manifest_text(7));
  const Error error = open(bytes);
  CHECK(error.fault == Fault::Version);
  CHECK(error.message == "bundle version 7 cannot be read by this build, which reads version 2");
  std::string text;
  int version = 0;
  REQUIRE_FALSE(read_manifest(bytes, &text, &version));
  CHECK(version == 7);
  CHECK(text == dlcb::test::manifest_text(7));
}

TEST_CASE("what is not a bundle is named") {
  const auto message = [](const std::string& text) { return open(Bytes(text.begin(), text.end())).message; };
  CHECK(message("") == "it is empty");
  CHECK(message("some text that is long enough to be a header") == "it is not a zip archive");
  const auto program = dlcb::test::sample_program();
  const auto with_manifest = [&](const std::string& m) {
    return open(dlcb::test::make_bundle(program.program, program.finish(), m)).message;
  };
  CHECK(with_manifest("[") == "its manifest is not a JSON object");
  CHECK(with_manifest("[1]") == "its manifest is not a JSON object");
  CHECK(with_manifest("{}") == "its manifest does not say \"format\": \"dlcb\"");
  CHECK(with_manifest("{\"format\": \"dlcb\"}") == "its manifest states no format_version");
  CHECK(with_manifest("{\"format\": \"dlcb\", \"format_version\": \"1\"}") == "its manifest states no format_version");
  std::shared_ptr<Bundle> bundle;
  CHECK(Bundle::open("/nonexistent/file", &bundle).fault == Fault::CannotOpen);
  CHECK(Bundle::open("/tmp", &bundle).fault == Fault::CannotOpen);
}

TEST_CASE("external weights are found beside the bundle and checked") {
  auto b = dlcb::test::sample_program();
  const std::string path = temporary("external.dlcb"), weights_path = temporary("external.weights");
  b.program.external_weights = weights_path.substr(weights_path.rfind('/') + 1);
  Bytes weights(64, 9);
  b.program.external_weights_crc = crc32(0, weights);
  save(path, dlcb::test::make_bundle(b));
  std::shared_ptr<Bundle> bundle;
  CHECK(Bundle::open(path, &bundle).fault == Fault::CannotOpen);
  save(weights_path, weights);
  {
    const Error error = Bundle::open(path, &bundle);
    INFO(error.message);
    REQUIRE_FALSE(error);
  }
  CHECK(bundle->weights()[5] == 9);
  bundle.reset();
  weights[7] = 1;
  save(weights_path, weights);
  CHECK(Bundle::open(path, &bundle).fault == Fault::Damaged);
  CHECK(open(dlcb::test::make_bundle(b)).fault == Fault::Damaged);  // from memory there is no folder to look in
  ::unlink(path.c_str());
  ::unlink(weights_path.c_str());
}
