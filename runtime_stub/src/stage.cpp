// See stage.h. The bundle has been verified, so registers, buffers and entries are indexed without checks; values that
// depend on the call (sizes, grids, 32-bit parameters) are checked here.
#include "runtime_stub/src/stage.h"

#include <algorithm>

#include "bundle_format/packing.h"
#include "runtime_stub/src/refusal.h"
#include "runtime_stub/src/tensor.h"

namespace dlcb::rt {
namespace {

class Resolver {
 public:
  Resolver(const Model& model, uint32_t stage, const StageInput& input, Stage& out)
      : model_(model), p_(model.program()), stage_(stage), input_(input), out_(out) {}

  // Whatever else a lost register led to, it is the reason.
  Error resolve() {
    Error error = resolve_in_order();
    if (!needs_lost_) return error;
    return {DLCB_INPUT_REFUSED, "what the model computes of these inputs' sizes does not fit 64 bits"};
  }

 private:
  Error resolve_in_order() {
    out_.registers = input_.registers;
    bundle::run_segment(*p_.host(), stage_, input_.host, out_.registers);
    if (stage_ == 0) DLCB_RT_TRY(check_dims());
    for (uint32_t guard : model_.stages()[stage_].guards) {
      const uint32_t holds = p_.guards()->Get(guard)->reg();
      if (out_.registers.lost(holds) || !out_.registers[holds])
        return refuse_guard(model_, guard, input_.input_dims, out_.registers);
    }
    DLCB_RT_TRY(settle_outputs());
    DLCB_RT_TRY(pack_arena());
    for (uint32_t s = model_.stages()[stage_].first_step; s < model_.stages()[stage_].end_step; ++s)
      DLCB_RT_TRY(step(s));
    return {};
  }

  // A value that this call needs.
  int64_t reg(uint32_t r) const {
    needs_lost_ = needs_lost_ || out_.registers.lost(r);
    return out_.registers[r];
  }

  Error check_dims() const {
    for (uint32_t i = 0; i < model_.inputs(); ++i)
      for (uint32_t d = 0; d < input_.input_dims[i].size(); ++d)
        if (reg(p_.inputs()->Get(i)->dims()->Get(d)->reg()) != input_.input_dims[i][d])
          return refuse_dim(model_, i, d, input_.input_dims[i][d], out_.registers);
    return {};
  }

  Error settle_outputs() {
    out_.output_dims.resize(model_.outputs());
    for (uint32_t o : model_.stages()[stage_].outputs) {
      const fb::TensorInfo& info = *p_.outputs()->Get(o);
      std::vector<int64_t>& dims = out_.output_dims[o];
      for (uint32_t d = 0; d < bundle::size_or_zero(info.dims()); ++d) dims.push_back(reg(info.dims()->Get(d)->reg()));
      if (!byte_size(dims, element_size(info.dtype())))
        return {DLCB_INPUT_REFUSED,
                "output '" + info.name()->str() + "' would have the impossible shape " + text_of(dims)};
    }
    return {};
  }

  Error pack_arena() {
    out_.offsets.assign(input_.offsets.begin(), input_.offsets.end());
    out_.offsets.resize(bundle::size_or_zero(p_.buffers()), 0);
    const std::vector<uint32_t>& buffers = model_.stages()[stage_].buffers;
    std::vector<bundle::Life> lives;
    for (uint32_t b : buffers) {
      const fb::Buffer& buffer = *p_.buffers()->Get(b);
      const int64_t bytes = reg(buffer.bytes_reg());
      if (bytes < 0)
        return {DLCB_INPUT_REFUSED,
                "intermediate '" + flatbuffers::GetString(buffer.name()) + "' would have a negative size"};
      lives.push_back({static_cast<uint64_t>(bytes), buffer.first_step(), buffer.last_step()});
    }
    const bundle::Packing packing = bundle::pack(lives);
    if (packing.overflow) return {DLCB_OUT_OF_MEMORY, "the intermediates of this shape exceed any memory"};
    for (size_t i = 0; i < buffers.size(); ++i) out_.offsets[buffers[i]] = packing.offsets[i];
    out_.arena_peak = packing.peak;
    return {};
  }

  // Bytes that a buffer has in this call.
  uint64_t buffer_bytes(uint32_t index) const {
    const fb::Buffer& b = *p_.buffers()->Get(index);
    switch (b.kind()) {
      case fb::BufferKind::Weight:
        return b.size();
      case fb::BufferKind::Input: {
        const fb::TensorInfo& info = *p_.inputs()->Get(b.index());
        return byte_size(input_.input_dims[b.index()], element_size(info.dtype())).value_or(0);
      }
      case fb::BufferKind::Output: {
        const fb::TensorInfo& info = *p_.outputs()->Get(b.index());
        std::vector<int64_t> dims;
        for (uint32_t d = 0; d < bundle::size_or_zero(info.dims()); ++d)
          dims.push_back(reg(info.dims()->Get(d)->reg()));
        return byte_size(dims, element_size(info.dtype())).value_or(0);
      }
      default:
        return static_cast<uint64_t>(std::max<int64_t>(0, reg(b.bytes_reg())));
    }
  }

  // Makes `slot` hold the buffer's address, now (weights) or whenever addresses are applied. The slot must not move.
  void bind(uint64_t* slot, uint32_t buffer, uint64_t offset = 0) {
    const fb::Buffer& b = *p_.buffers()->Get(buffer);
    const uint32_t inputs = model_.inputs(), outputs = model_.outputs();
    switch (b.kind()) {
      case fb::BufferKind::Weight:
        *slot = model_.weights() + b.offset() + offset;
        return;
      case fb::BufferKind::Input:
        out_.patches.push_back({slot, b.index(), offset});
        return;
      case fb::BufferKind::Output:
        out_.patches.push_back({slot, inputs + b.index(), offset});
        return;
      default:
        out_.patches.push_back({slot, inputs + outputs + model_.buffer_stage(buffer), out_.offsets[buffer] + offset});
    }
  }
  void bind_optional(uint64_t* slot, int32_t buffer) {
    *slot = 0;
    if (buffer >= 0) bind(slot, static_cast<uint32_t>(buffer));
  }

  Error step(uint32_t index) {
    const fb::Step& s = *p_.steps()->Get(index);
    const bool taken = s.predicate() < 0 || reg(static_cast<uint32_t>(s.predicate()));
    if (const fb::Read* r = s.action_as_Read()) return read(*r, taken);
    if (!taken) return {};
    switch (s.action_type()) {
      case fb::Action::Launch: {
        std::optional<LaunchCall> call;
        DLCB_RT_TRY(launch(*s.action_as_Launch(), &call));
        if (!call) return {};
        out_.calls.emplace_back().action = std::move(*call);
        bind_args(std::get<LaunchCall>(out_.calls.back().action));
        return {};
      }
      case fb::Action::Matmul:
        return matmul(*s.action_as_Matmul(), s.fallback());
      case fb::Action::Conv:
        return conv(*s.action_as_Conv(), s.fallback());
      default:
        return copy(*s.action_as_Copy());
    }
  }

  // Fills *out unless the grid is empty. Its buffer arguments are bound by bind_args once the call has its place.
  Error launch(const fb::Launch& l, std::optional<LaunchCall>* out) {
    const auto& variants = *l.variants();
    uint32_t v = 0;
    while (v < variants.size() && !reg(variants[v]->when())) ++v;
    if (v == variants.size()) return {DLCB_INTERNAL, model_.region_text(l.region()) + " has no variant for this shape"};
    const fb::Variant& variant = *variants[v];
    LaunchCall call{};
    call.entry = variant.entry();
    bool empty = false;
    DLCB_RT_TRY(geometry(l, variant, &call, &empty));
    if (empty) return {};
    for (uint32_t i = 0; i < bundle::size_or_zero(variant.args()); ++i) {
      const fb::Arg& arg = *variant.args()->Get(i);
      uint64_t slot = 0;
      DLCB_RT_TRY(argument(l, arg, &slot));
      call.args.push_back(slot);
    }
    last_variant_ = &variant;
    *out = std::move(call);
    return {};
  }

  Error geometry(const fb::Launch& l, const fb::Variant& variant, LaunchCall* call, bool* empty) const {
    constexpr int64_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
    int64_t threads = 1;
    bool possible = true;
    for (uint32_t i = 0; i < 3; ++i) {
      const int64_t grid = reg(variant.grid()->Get(i)), block = reg(variant.block()->Get(i));
      *empty = *empty || grid == 0;
      possible = possible && grid >= 0 && grid <= kMaxGrid[i] && block >= 1 && block <= 1024;
      threads *= possible ? block : 1;
      call->grid[i] = static_cast<uint32_t>(grid);
      call->block[i] = static_cast<uint32_t>(block);
    }
    const int64_t shared = reg(variant.shared_bytes());
    possible =
        possible && threads <= p_.entries()->Get(variant.entry())->max_threads() && shared >= 0 && shared <= (1 << 20);
    call->shared_bytes = static_cast<uint32_t>(shared);
    if (*empty || possible) return {};
    return {DLCB_INPUT_REFUSED, model_.region_text(l.region()) + " cannot be launched for a shape this large"};
  }

  Error argument(const fb::Launch& l, const fb::Arg& arg, uint64_t* slot) const {
    if (arg.kind() == fb::ArgKind::BufferPtr) return {};
    const int64_t value = reg(arg.ref());
    if (arg.kind() == fb::ArgKind::I64) *slot = static_cast<uint64_t>(value);
    const bool is_signed = arg.kind() == fb::ArgKind::I32;
    if (!is_signed && arg.kind() != fb::ArgKind::U32) return {};
    if (value < (is_signed ? INT32_MIN : 0) || value > (is_signed ? INT32_MAX : UINT32_MAX))
      return {DLCB_INPUT_REFUSED, model_.region_text(l.region()) + " needs the value " + std::to_string(value) +
                                      ", which does not fit 32 bits"};
    *slot = static_cast<uint32_t>(value);
    return {};
  }

  void bind_args(LaunchCall& call) {
    for (uint32_t i = 0; i < call.args.size(); ++i) {
      const fb::Arg& arg = *last_variant_->args()->Get(i);
      if (arg.kind() == fb::ArgKind::BufferPtr) bind(&call.args[i], arg.ref());
    }
  }

  // `empty`: the call adds up nothing, which libraries refuse.
  Error add_fallback(Call& call, const fb::Launch* fallback, uint32_t region, bool empty) {
    const bool forced = !model_.options().use_libraries;
    if (forced && !fallback)
      return {DLCB_BAD_ARGUMENT,
              model_.region_text(region) + " is a library call without a stand-in; dlcbc --stand-ins makes one"};
    if (!fallback) return {};
    std::optional<LaunchCall> launch_call;
    if (Error error = launch(*fallback, &launch_call)) return forced || empty ? error : Error{};  // the library may do
    call.has_fallback = true;
    call.use_fallback = forced || empty;
    if (!launch_call) return {};
    call.fallback = std::move(launch_call);
    bind_args(*call.fallback);
    return {};
  }

  Error matmul(const fb::Matmul& m, const fb::Launch* fallback) {
    MatmulCall r{};
    r.m = reg(m.m()), r.n = reg(m.n()), r.k = reg(m.k()), r.batch = reg(m.batch());
    if (r.m <= 0 || r.n <= 0 || r.batch <= 0) return {};
    r.dtype = m.dtype();
    r.lda = reg(m.lda()), r.ldb = reg(m.ldb()), r.ldc = reg(m.ldc());
    r.stride_a = reg(m.stride_a()), r.stride_b = reg(m.stride_b()), r.stride_c = reg(m.stride_c());
    r.trans_a = m.trans_a(), r.trans_b = m.trans_b();
    r.alpha = m.alpha();
    r.activation = static_cast<int>(m.activation());
    const int tf32 = model_.options().allow_tf32_matmul;
    r.tf32 = tf32 < 0 ? p_.tf32_matmul() : tf32 != 0;
    Call& call = out_.calls.emplace_back();
    MatmulCall& placed = call.action.emplace<MatmulCall>(r);
    bind(&placed.a, m.a());
    bind(&placed.b, m.b());
    bind(&placed.c, m.c());
    bind_optional(&placed.bias, m.bias());
    bind_optional(&placed.residual, m.residual());
    return add_fallback(call, fallback, m.region(), r.k <= 0);
  }

  Error conv(const fb::Conv& c, const fb::Launch* fallback) {
    ConvCall r{};
    r.n = reg(c.n()), r.h = reg(c.h()), r.wd = reg(c.wd()), r.c = reg(c.c()), r.k = reg(c.k()), r.p = reg(c.p()),
    r.q = reg(c.q());
    if (r.n <= 0 || r.k <= 0 || r.p <= 0 || r.q <= 0) return {};
    r.dtype = c.dtype();
    r.r = c.r(), r.s = c.s(), r.groups = c.groups();
    std::copy(c.pad()->begin(), c.pad()->end(), r.pad);
    std::copy(c.stride()->begin(), c.stride()->end(), r.stride);
    std::copy(c.dilation()->begin(), c.dilation()->end(), r.dilation);
    r.transposed = c.transposed();
    const int tf32 = model_.options().allow_tf32_conv;
    r.tf32 = tf32 < 0 ? p_.tf32_conv() : tf32 != 0;
    r.activation = static_cast<int>(c.activation());
    Call& call = out_.calls.emplace_back();
    ConvCall& placed = call.action.emplace<ConvCall>(r);
    bind(&placed.x, c.x());
    bind(&placed.w, c.w());
    bind(&placed.y, c.y());
    bind_optional(&placed.bias, c.bias());
    bind_optional(&placed.residual, c.residual());
    return add_fallback(call, fallback, c.region(), r.c <= 0 || r.h <= 0 || r.wd <= 0);
  }

  Error copy(const fb::Copy& c) {
    const int64_t bytes = reg(c.bytes());
    if (bytes == 0) return {};
    if (bytes < 0 || static_cast<uint64_t>(bytes) > std::min(buffer_bytes(c.from()), buffer_bytes(c.to())))
      return {DLCB_INTERNAL, "a copy of " + std::to_string(bytes) + " bytes does not fit its buffers"};
    CopyCall& placed = out_.calls.emplace_back().action.emplace<CopyCall>();
    placed.bytes = static_cast<uint64_t>(bytes);
    bind(&placed.from, c.from());
    bind(&placed.to, c.to());
    return {};
  }

  Error read(const fb::Read& r, bool taken) {
    const fb::Buffer& buffer = *p_.buffers()->Get(r.buffer());
    const uint64_t element = element_size(buffer.dtype()), offset = r.index() * element;
    ReadCall& placed = out_.calls.emplace_back().action.emplace<ReadCall>();
    placed.dst = r.dst();
    placed.dtype = buffer.dtype();
    if (!taken || offset + element > buffer_bytes(r.buffer())) return {};
    placed.bytes = element;
    bind(&placed.from, r.buffer(), offset);
    return {};
  }

  const Model& model_;
  const fb::Program& p_;
  uint32_t stage_;
  const StageInput& input_;
  Stage& out_;
  const fb::Variant* last_variant_ = nullptr;
  mutable bool needs_lost_ = false;
};

}  // namespace

void Stage::apply(std::span<const Ptr> new_bases) {
  if (std::ranges::equal(bases, new_bases)) return;
  bases.assign(new_bases.begin(), new_bases.end());
  for (const Patch& patch : patches) *patch.slot = bases[patch.base] + patch.offset;
}

Error resolve_stage(const Model& model, uint32_t stage, const StageInput& input, std::unique_ptr<Stage>* out) {
  auto result = std::make_unique<Stage>();
  DLCB_RT_TRY(Resolver(model, stage, input, *result).resolve());
  *out = std::move(result);
  return {};
}

}  // namespace dlcb::rt
