#include "emit/emit.h"

#include <flatbuffers/flatbuffers.h>

#include "base/file.h"
#include "bundle_format/verify.h"
#include "bundle_format/writer.h"
#include "emit/manifest.h"
#include "emit/weights.h"

namespace dlcb::emit {
namespace {

// The writer goes back to fill in headers; AtomicFile appends and overwrites.
class AtomicSink : public bundle::Sink {
 public:
  explicit AtomicSink(AtomicFile& file) : file_(file) {}
  bundle::Error write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
    static constexpr uint8_t kZeros[4096] = {};
    while (file_.size() < offset) {
      if (auto s = file_.write(kZeros, std::min<uint64_t>(sizeof(kZeros), offset - file_.size())); !s)
        return keep(std::move(s.error()));
    }
    const size_t inside = static_cast<size_t>(std::min<uint64_t>(bytes.size(), file_.size() - offset));
    if (inside > 0) {
      if (auto s = file_.write_at(offset, bytes.data(), inside); !s) return keep(std::move(s.error()));
    }
    if (inside < bytes.size()) {
      if (auto s = file_.write(bytes.data() + inside, bytes.size() - inside); !s) return keep(std::move(s.error()));
    }
    return {};
  }
  std::optional<Diagnostic> failure;

 private:
  bundle::Error keep(Diagnostic d) {
    bundle::Error error{bundle::Fault::CannotWrite, message(d)};
    failure = std::move(d);
    return error;
  }
  AtomicFile& file_;
};

std::span<const uint8_t> as_bytes(const std::vector<char>& v) {
  return {reinterpret_cast<const uint8_t*>(v.data()), v.size()};
}

bundle::Error add_entries(const EmitInput& in, bundle::BundleWriter& writer,
                          const flatbuffers::FlatBufferBuilder& program, const WeightPieces& weights,
                          EmitResult& result) {
  if (auto e = writer.add("manifest.json", manifest_json(in))) return e;
  if (auto e = writer.add("program.fb", std::span<const uint8_t>(program.GetBufferPointer(), program.GetSize())))
    return e;
  for (uint32_t m = 0; m < in.modules->sources.size(); ++m) {
    if (in.strip_sources) break;
    if (auto e = writer.add(bundle::source_name(m), in.modules->sources[m])) return e;
  }
  for (size_t t = 0; t < in.targets.size(); ++t) {
    for (uint32_t m = 0; m < in.modules->sources.size(); ++m) {
      const std::vector<char>& cubin = in.modules->cubins[t][m];
      result.code_bytes += cubin.size();
      if (auto e = writer.add(bundle::cubin_name(m, in.targets[t].name()), as_bytes(cubin))) return e;
    }
  }
  if (auto e = writer.add("weights.bin", weights.pieces)) return e;
  return writer.finish();
}

}  // namespace

Result<EmitResult> write_bundle(const EmitInput& in, const std::string& path) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(fb::Program::Pack(builder, in.plan->program.get()), fb::ProgramIdentifier());
  const WeightPieces weights = weight_pieces(*in.plan);
  DLCB_ASSIGN(AtomicFile file, AtomicFile::create(path));
  AtomicSink sink(file);
  bundle::BundleWriter writer(sink);
  EmitResult result;
  if (auto e = add_entries(in, writer, builder, weights, result)) {
    if (sink.failure) return *std::move(sink.failure);
    DLCB_CHECK(false, "bundle writer: " + e.message);
  }
  result.bundle_bytes = file.size();
  DLCB_TRY(file.commit());
  return result;
}

}  // namespace dlcb::emit
