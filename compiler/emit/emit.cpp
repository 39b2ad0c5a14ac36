#include "emit/emit.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>

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
    if (cancelled_.load()) return {bundle::Fault::CannotWrite, "cancelled"};
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

  // From another thread: the next write fails.
  void cancel() { cancelled_.store(true); }
  // Why writing ended with `error`.
  Diagnostic diagnostic(const bundle::Error& error) {
    DLCB_CHECK(failure_.has_value(), "bundle writer: " + error.message);
    return *std::move(failure_);
  }

 private:
  bundle::Error keep(Diagnostic d) {
    bundle::Error error{bundle::Fault::CannotWrite, message(d)};
    failure_ = std::move(d);
    return error;
  }

  AtomicFile& file_;
  std::optional<Diagnostic> failure_;
  std::atomic<bool> cancelled_ = false;
};

std::span<const uint8_t> as_bytes(const std::vector<char>& v) {
  return {reinterpret_cast<const uint8_t*>(v.data()), v.size()};
}

}  // namespace

struct BundleFile::Writing {
  Writing(const EmitInput& in, AtomicFile opened)
      : input(in), weights(weight_pieces(*in.plan)), file(std::move(opened)), sink(file), writer(sink) {}

  bundle::Error add_rest(const cuda::Modules& modules);

  const EmitInput input;
  const WeightPieces weights;
  AtomicFile file;
  AtomicSink sink;
  bundle::BundleWriter writer;
  std::future<bundle::Error> weights_written;
  EmitResult result;
};

bundle::Error BundleFile::Writing::add_rest(const cuda::Modules& modules) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(fb::Program::Pack(builder, input.plan->program.get()), fb::ProgramIdentifier());
  if (auto e = writer.add("program.fb", std::span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize())))
    return e;
  const uint32_t count = static_cast<uint32_t>(input.layout->modules.size());
  for (uint32_t m = 0; m < count && !input.strip_sources; ++m) {
    if (auto e = writer.add(bundle::source_name(m), input.layout->modules[m].source)) return e;
  }
  for (size_t t = 0; t < input.targets.size(); ++t) {
    for (uint32_t m = 0; m < count; ++m) {
      const std::vector<char>& cubin = modules.cubins[t][m];
      result.code_bytes += cubin.size();
      if (auto e = writer.add(bundle::cubin_name(m, input.targets[t].name()), as_bytes(cubin))) return e;
    }
  }
  return writer.finish();
}

BundleFile::BundleFile(std::unique_ptr<Writing> writing) : writing_(std::move(writing)) {}

BundleFile::~BundleFile() {
  writing_->sink.cancel();
  if (writing_->weights_written.valid()) writing_->weights_written.wait();
}

Result<std::unique_ptr<BundleFile>> BundleFile::begin(const EmitInput& in, const std::string& path) {
  DLCB_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto writing = std::make_unique<Writing>(in, std::move(file));
  if (auto e = writing->writer.add("manifest.json", manifest_json(in))) return writing->sink.diagnostic(e);
  writing->weights_written =
      std::async(std::launch::async, [w = writing.get()] { return w->writer.add("weights.bin", w->weights.pieces); });
  return std::unique_ptr<BundleFile>(new BundleFile(std::move(writing)));
}

Result<EmitResult> BundleFile::finish(const cuda::Modules& modules) {
  Writing& w = *writing_;
  bundle::Error error = w.weights_written.get();
  if (!error) error = w.add_rest(modules);
  if (error) return w.sink.diagnostic(error);
  w.result.bundle_bytes = w.file.size();
  DLCB_TRY(w.file.commit());
  return w.result;
}

}  // namespace dlcb::emit
