// Programs that are well-formed FlatBuffers but wrong: each rule of the verifier has a row. Then mutated programs:
// whatever the verifier accepts must run without touching memory that is not its own (the sanitizers judge).
#include "bundle_format/verify.h"

#include <functional>
#include <random>

#include "bundle/sample.h"
#include "bundle_format/eval.h"
#include "bundle_format/packing.h"
#include "bundle_format/reader.h"
#include "catch.h"

using namespace dlcb;
using namespace dlcb::bundle;
using dlcb::test::Bytes;
using dlcb::test::ProgramBuilder;

namespace {

std::vector<uint64_t> aligned(const Bytes& bytes) {
  std::vector<uint64_t> copy((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(copy.data()));
  return copy;
}

Error verify(const Bytes& bytes, const fb::Program** program, std::vector<uint64_t>* storage) {
  *storage = aligned(bytes);
  return verify_program({reinterpret_cast<const uint8_t*>(storage->data()), bytes.size()}, program);
}

struct Row {
  const char* message;
  std::function<void(ProgramBuilder&)> damage;
};

fb::LaunchT& launch_of(ProgramBuilder& b, size_t step) { return *b.program.steps[step]->action.AsLaunch(); }
fb::VariantT& variant_of(ProgramBuilder& b) { return *launch_of(b, 0).variants[0]; }

fb::ReadT read_into(uint32_t buffer, uint32_t dst, uint32_t next) {
  fb::ReadT r;
  r.buffer = buffer;
  r.dst = dst;
  r.next_segment = next;
  return r;
}

const Row kRows[] = {
    {"uses register 9999, which does not exist", [](auto& b) { b.program.inputs[0]->dims[0]->reg = 9999; }},
    {"has an unknown element type", [](auto& b) { b.program.inputs[0]->dtype = 13; }},
    {"is read by the host but is not an integer tensor", [](auto& b) { b.program.inputs[0]->host = true; }},
    {"is of an unknown operation",
     [](auto& b) { b.program.host->code[0] = fb::Instr(static_cast<fb::Op>(99), 64, 0, 0, 0); }},
    {"writes a register that does not exist",
     [](auto& b) { b.program.host->code[0] = fb::Instr(fb::Op::Add, 5000, 0, 0, 0); }},
    {"writes a register that is written elsewhere",
     [](auto& b) { b.program.host->code[0] = fb::Instr(fb::Op::Add, 0, 0, 0, 0); }},
    {"writes a register of another type",
     [](auto& b) { b.program.host->code[0] = fb::Instr(fb::Op::Eq, 64, 0, 0, 0); }},
    {"before it is written", [](auto& b) { b.program.host->code[0] = fb::Instr(fb::Op::Add, 64, 65, 0, 0); }},
    {"which is not Bool", [](auto& b) { b.op(fb::Op::Not, 0); }},
    {"which is not F64", [](auto& b) { b.op(fb::Op::FloorScale, 0, 0); }},
    {"names a tensor that does not exist", [](auto& b) { b.op(fb::Op::InputDim, 3, 0); }},
    {"names a dim that does not exist", [](auto& b) { b.op(fb::Op::InputDim, 0, 2); }},
    {"names a tensor that does not exist", [](auto& b) { b.op(fb::Op::OutputAlign, 1); }},
    {"not marked as read by the host", [](auto& b) { b.op(fb::Op::InputElem, 0, 0); }},
    {"segments of the host program are out of order",
     [](auto& b) {
       b.program.host->segment_starts = {0, 99};
       b.step(read_into(0, b.reg(fb::RegType::I64), 1));
     }},
    {"segment 0 does not start at instruction 0", [](auto& b) { b.program.host->segment_starts = {1}; }},
    {"it has no host program", [](auto& b) { b.program.host->segment_starts.clear(); }},
    {"it has no host program", [](auto& b) { b.program.host.reset(); }},
    {"a segment of the host program is never started", [](auto& b) { b.next_segment(); }},
    {"starts a segment out of order", [](auto& b) { b.step(read_into(0, b.reg(fb::RegType::I64), 2)); }},
    {"but no segment follows", [](auto& b) { b.step(read_into(0, b.reg(fb::RegType::I64), 0)); }},
    {"reads into a register that is written elsewhere", [](auto& b) { b.next_segment(), b.step(read_into(0, 0, 1)); }},
    {"reads into a register that is not I64",
     [](auto& b) { b.next_segment(), b.step(read_into(0, b.reg(fb::RegType::Bool), 1)); }},
    {"neither 0 nor 1", [](auto& b) { b.program.host->constants[b.flag(true)] = 2; }},
    {"more constants than registers", [](auto& b) { b.program.host->constants.resize(1000); }},
    {"before it is written",
     [](auto& b) {  // a guard of segment 0 on a value that is read later
       const uint32_t value = b.reg(fb::RegType::I64), zero = b.i64(0);
       b.next_segment();
       b.step(read_into(0, value, 1));
       b.guard(b.op(fb::Op::Le, zero, value), "late", 0);
     }},
    {"is checked after a segment that does not exist", [](auto& b) { b.program.guards[0]->segment = 4; }},
    {"guard 0 is malformed", [](auto& b) { b.program.guards[0]->input = 5; }},
    {"blames an axis that its input does not have", [](auto& b) { b.program.guards[0]->axis = 2; }},
    {"is of an input that does not exist", [](auto& b) { b.program.buffers[0]->index = 8; }},
    {"is of an output that does not exist", [](auto& b) { b.program.buffers[1]->index = 8; }},
    {"has 0 buffers instead of one", [](auto& b) { b.program.buffers[1]->kind = fb::BufferKind::Input; }},
    {"lies outside the weights", [](auto& b) { b.program.buffers[2]->offset = 16; }},
    {"lies outside the weights", [](auto& b) { b.program.buffers[2]->offset = ~uint64_t{15}; }},
    {"lies outside the weights", [](auto& b) { b.program.buffers[2]->size = 32, b.program.buffers[2]->offset = 8; }},
    {"has an impossible lifetime", [](auto& b) { b.program.buffers[3]->last_step = 2; }},
    {"has an impossible lifetime",
     [](auto& b) { b.program.buffers[3]->first_step = 1, b.program.buffers[3]->last_step = 0; }},
    {"uses a buffer outside its lifetime", [](auto& b) { b.program.buffers[3]->last_step = 0; }},
    {"is of an unknown kind", [](auto& b) { b.program.buffers[0]->kind = static_cast<fb::BufferKind>(77); }},
    {"does nothing", [](auto& b) { b.program.steps[0]->action.Reset(); }},
    {"has no variant to launch", [](auto& b) { launch_of(b, 0).variants.clear(); }},
    {"launches an entry that does not exist", [](auto& b) { variant_of(b).entry = 7; }},
    {"not three registers", [](auto& b) { variant_of(b).grid.pop_back(); }},
    {"uses a buffer that does not exist", [](auto& b) { variant_of(b).args[0] = fb::Arg(fb::ArgKind::BufferPtr, 70); }},
    {"passes argument 0 of another kind", [](auto& b) { variant_of(b).args[0] = fb::Arg(fb::ArgKind::I64, 0); }},
    {"passes argument 0 of another kind",
     [](auto& b) { variant_of(b).args[0] = fb::Arg(static_cast<fb::ArgKind>(9), 0); }},
    {"arguments to a kernel of", [](auto& b) { variant_of(b).args.pop_back(); }},
    {"arguments to a kernel of", [](auto& b) { b.program.entries[variant_of(b).entry]->params.clear(); }},
    {"has a parameter of an unknown kind",
     [](auto& b) { b.program.entries[0]->params[0] = static_cast<fb::ArgKind>(9); }},
    {"which is not Bool", [](auto& b) { b.program.steps[0]->predicate = 0; }},
    {"has an impossible predicate", [](auto& b) { b.program.steps[0]->predicate = -2; }},
    {"belongs to a region that does not exist", [](auto& b) { launch_of(b, 0).region = 3; }},
    {"writes an input or a weight",
     [](auto& b) {
       fb::CopyT c;
       c.from = 2, c.to = 0;
       b.step(c);
     }},
    {"four pads, two strides and two dilations",
     [](auto& b) {
       fb::ConvT c;
       c.y = 1;
       b.step(std::move(c));
     }},
    {"impossible window",
     [](auto& b) {
       fb::ConvT c;
       c.y = 1, c.r = 1, c.s = 1, c.groups = 1;
       c.pad = {0, 0, 0, 0}, c.stride = {1, 0}, c.dilation = {1, 1};
       b.step(std::move(c));
     }},
    {"is in a module that does not exist", [](auto& b) { b.program.entries[0]->module_ = 1; }},
    {"a name that is no C identifier", [](auto& b) { b.program.entries[0]->name = "a b"; }},
    {"impossible max_threads", [](auto& b) { b.program.entries[0]->max_threads = 0; }},
    {"has an illegal name", [](auto& b) { b.program.targets = {"../x"}; }},
    {"not a plain file name", [](auto& b) { b.program.external_weights = "../w"; }},
};

}  // namespace

TEST_CASE("every rule refuses its violation") {
  for (const Row& row : kRows) {
    ProgramBuilder b = dlcb::test::sample_program();
    row.damage(b);
    const fb::Program* program = nullptr;
    std::vector<uint64_t> storage;
    const Error error = verify(b.finish(), &program, &storage);
    INFO(row.message << " / " << error.message);
    CHECK(error.fault == Fault::Damaged);
    CHECK(error.message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("code must be there for every target") {
  auto b = dlcb::test::sample_program();
  const Bytes bytes = b.finish();
  const fb::Program* program = nullptr;
  std::vector<uint64_t> storage;
  REQUIRE_FALSE(verify(bytes, &program, &storage));
  CHECK_FALSE(verify_modules(*program, [](std::string_view) { return true; }));
  CHECK_FALSE(verify_modules(*program, [](std::string_view name) { return name == "kernels/sm_90/0.cubin"; }));
  CHECK(verify_modules(*program, [](std::string_view name) { return name == "kernels/0.cu"; }).message ==
        "entry 'kernels/sm_90/0.cubin' is missing");
  b.program.targets.clear();
  REQUIRE_FALSE(verify(b.finish(), &program, &storage));
  CHECK(verify_modules(*program, [](std::string_view) { return false; }).message == "it holds no code for its kernels");
  b.program.modules = 2;
  REQUIRE_FALSE(verify(b.finish(), &program, &storage));
  CHECK(verify_modules(*program, [](std::string_view name) { return name == "kernels/0.cu"; }).message ==
        "some of its kernel sources are missing");
}

TEST_CASE("mutated programs are refused or run safely") {
  const Bytes original = dlcb::test::sample_program().finish();
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = original;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      bytes[at] =
          random() % 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(bytes[at] + (random() % 2 ? 1 : -1));
    }
    const fb::Program* p = nullptr;
    std::vector<uint64_t> storage;
    if (verify(bytes, &p, &storage)) continue;
    ++accepted;
    std::vector<std::vector<int64_t>> dims(size_or_zero(p->inputs()));
    std::vector<std::span<const int64_t>> spans;
    for (uint32_t i = 0; i < dims.size(); ++i)
      spans.emplace_back(dims[i] = std::vector<int64_t>(size_or_zero(p->inputs()->Get(i)->dims()), 5));
    const std::vector<int64_t> align(std::max(size_or_zero(p->inputs()), size_or_zero(p->outputs())), 16);
    Registers registers(*p->host());
    for (uint32_t s = 0; s < p->host()->segment_starts()->size(); ++s)
      run_segment(*p->host(), s, {spans, align, align, {}}, registers);
  }
  CHECK(accepted > 100);  // otherwise the test tests little
}
