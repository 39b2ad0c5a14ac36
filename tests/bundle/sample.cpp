// See sample.h.
#include "bundle/sample.h"

#include <cstring>
#include <stdexcept>

#include "bundle_format/eval.h"
#include "bundle_format/verify.h"
#include "bundle_format/writer.h"

namespace dlcb::test {
namespace {

constexpr uint32_t kConstants = 64;

void must(const bundle::Error& error) {
  if (error) throw std::runtime_error(error.message);
}

std::unique_ptr<fb::TensorInfoT> tensor(const std::string& name, uint8_t dtype, const Dims& dims, bool host) {
  auto t = std::make_unique<fb::TensorInfoT>();
  t->name = name;
  t->dtype = dtype;
  t->host = host;
  for (const auto& [reg, text] : dims) {
    auto d = std::make_unique<fb::DimT>();
    d->reg = reg;
    d->text = text;
    t->dims.push_back(std::move(d));
  }
  return t;
}

}  // namespace

ProgramBuilder::ProgramBuilder() {
  program.host = std::make_unique<fb::HostProgramT>();
  program.host->reg_types.assign(kConstants, fb::RegType::I64);
  program.host->constants.assign(kConstants, 0);
  program.host->segment_starts = {0};
}

uint32_t ProgramBuilder::constant(fb::RegType type, int64_t bits) {
  program.host->reg_types.at(constants_) = type;
  program.host->constants.at(constants_) = bits;
  return constants_++;
}

uint32_t ProgramBuilder::i64(int64_t value) { return constant(fb::RegType::I64, value); }
uint32_t ProgramBuilder::flag(bool value) { return constant(fb::RegType::Bool, value); }
uint32_t ProgramBuilder::f64(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return constant(fb::RegType::F64, bits);
}

uint32_t ProgramBuilder::reg(fb::RegType type) {
  program.host->reg_types.push_back(type);
  return static_cast<uint32_t>(program.host->reg_types.size()) - 1;
}

uint32_t ProgramBuilder::op(fb::Op op, uint32_t a, uint32_t b, uint32_t c) {
  const bundle::Operand dst = bundle::signature_of(op)->dst;
  const fb::RegType type = dst == bundle::Operand::Bool   ? fb::RegType::Bool
                           : dst == bundle::Operand::Same ? program.host->reg_types[b]
                                                          : fb::RegType::I64;
  const uint32_t result = reg(type);
  program.host->code.push_back(fb::Instr(op, result, a, b, c));
  return result;
}

void ProgramBuilder::next_segment() {
  program.host->segment_starts.push_back(static_cast<uint32_t>(program.host->code.size()));
}

uint32_t ProgramBuilder::input(const std::string& name, uint8_t dtype, const Dims& dims, bool host) {
  program.inputs.push_back(tensor(name, dtype, dims, host));
  return static_cast<uint32_t>(program.inputs.size()) - 1;
}

void ProgramBuilder::symbol(const std::string& name, uint32_t reg) {
  auto d = std::make_unique<fb::DimT>();
  d->reg = reg;
  d->text = name;
  program.symbols.push_back(std::move(d));
}

namespace {
uint32_t add_buffer(fb::ProgramT& program, fb::BufferKind kind, const std::function<void(fb::BufferT&)>& fill) {
  auto b = std::make_unique<fb::BufferT>();
  b->kind = kind;
  fill(*b);
  program.buffers.push_back(std::move(b));
  return static_cast<uint32_t>(program.buffers.size()) - 1;
}
}  // namespace

uint32_t ProgramBuilder::output(const std::string& name, uint8_t dtype, const Dims& dims, uint32_t bytes_reg) {
  program.outputs.push_back(tensor(name, dtype, dims, false));
  return add_buffer(program, fb::BufferKind::Output, [&](fb::BufferT& b) {
    b.index = static_cast<uint32_t>(program.outputs.size()) - 1;
    b.bytes_reg = bytes_reg;
    b.dtype = dtype;
  });
}

uint32_t ProgramBuilder::input_buffer(uint32_t input, uint8_t dtype) {
  return add_buffer(program, fb::BufferKind::Input, [&](fb::BufferT& b) { b.index = input, b.dtype = dtype; });
}

uint32_t ProgramBuilder::weight(uint64_t offset, uint64_t size) {
  if (program.weight_bytes < offset + size) program.weight_bytes = offset + size;
  return add_buffer(program, fb::BufferKind::Weight, [&](fb::BufferT& b) { b.offset = offset, b.size = size; });
}

uint32_t ProgramBuilder::arena(uint32_t bytes_reg, uint32_t first_step, uint32_t last_step, uint8_t dtype) {
  return add_buffer(program, fb::BufferKind::Arena, [&](fb::BufferT& b) {
    b.bytes_reg = bytes_reg, b.first_step = first_step, b.last_step = last_step, b.dtype = dtype, b.name = "t";
  });
}

uint32_t ProgramBuilder::entry(const std::string& name) {
  auto e = std::make_unique<fb::EntryT>();
  e->name = name;
  e->max_threads = 256;
  program.modules = 1;
  program.entries.push_back(std::move(e));
  return static_cast<uint32_t>(program.entries.size()) - 1;
}

fb::GuardT& ProgramBuilder::guard(uint32_t reg, const std::string& text, uint32_t segment) {
  auto g = std::make_unique<fb::GuardT>();
  g->reg = reg;
  g->segment = segment;
  g->text = text;
  program.guards.push_back(std::move(g));
  return *program.guards.back();
}

std::unique_ptr<fb::LaunchT> ProgramBuilder::launch(uint32_t entry, uint32_t grid_x,
                                                    const std::vector<uint32_t>& buffers,
                                                    const std::vector<uint32_t>& values) {
  const uint32_t one = i64(1), threads = i64(32), zero = i64(0), always = flag(true);
  auto v = std::make_unique<fb::VariantT>();
  v->when = always;
  v->entry = entry;
  v->grid = {grid_x, one, one};
  v->block = {threads, one, one};
  v->shared_bytes = zero;
  const auto add = [&](fb::ArgKind kind, uint32_t ref) { v->args.push_back(fb::Arg(kind, ref)); };
  for (uint32_t b : buffers) add(fb::ArgKind::BufferPtr, b);
  for (uint32_t r : values) add(fb::ArgKind::I64, r);
  std::vector<fb::ArgKind>& params = program.entries[entry]->params;
  params.clear();
  for (const fb::Arg& arg : v->args) params.push_back(arg.kind());
  auto l = std::make_unique<fb::LaunchT>();
  l->variants.push_back(std::move(v));
  return l;
}

Bytes ProgramBuilder::finish() const {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishProgramBuffer(builder, fb::Program::Pack(builder, &program));
  return Bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

ProgramBuilder sample_program() {
  ProgramBuilder b;
  const uint32_t three = b.i64(3), four = b.i64(4), eight = b.i64(8);
  const uint32_t n = b.dim(0, 0);
  const uint32_t elements = b.op(fb::Op::Mul, n, three), bytes = b.op(fb::Op::Mul, elements, four);
  const uint32_t x = b.input("x", 0, {{n, "N"}, {three, "3"}});
  b.symbol("N", n);
  const uint32_t in = b.input_buffer(x), y = b.output("y", 0, {{n, "N"}, {three, "3"}}, bytes), w = b.weight(0, 64);
  const uint32_t t = b.arena(bytes, 0, 1);
  fb::GuardT& g = b.guard(b.op(fb::Op::Le, n, eight), "N <= 8");
  g.input = 0;
  g.axis = 0;
  const uint32_t k = b.entry("k0"), k1 = b.entry("k1");
  b.step(std::move(*b.launch(k, n, {in, w, t}, {elements})));
  b.step(std::move(*b.launch(k1, n, {t, y}, {elements})));
  b.program.targets = {"sm_90"};
  return b;
}

std::string manifest_text(int version) {
  return "{\"format\": \"dlcb\", \"format_version\": " + std::to_string(version) + ", \"producer\": \"test\"}";
}

Bytes make_bundle(const fb::ProgramT& program, const Bytes& program_bytes, const std::string& manifest,
                  const std::string& source) {
  bundle::MemorySink sink;
  bundle::BundleWriter writer(sink);
  must(writer.add("manifest.json", manifest));
  must(writer.add("program.fb", program_bytes));
  for (uint32_t m = 0; m < program.modules; ++m) {
    must(writer.add(bundle::source_name(m), source));
    for (const std::string& target : program.targets)
      must(writer.add(bundle::cubin_name(m, target), std::string_view("\x7f"
                                                                      "ELF")));
  }
  Bytes weights(program.weight_bytes);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(i);
  if (!weights.empty() && program.external_weights.empty()) must(writer.add("weights.bin", weights));
  must(writer.finish());
  return sink.bytes;
}

Bytes make_bundle(const ProgramBuilder& builder) { return make_bundle(builder.program, builder.finish()); }

Bytes sample_bundle() { return make_bundle(sample_program()); }

}  // namespace dlcb::test
