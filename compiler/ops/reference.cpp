// The body is compiled once into steps over registers of kLanes elements; each step is a loop over the lanes, so the
// cost of dispatch is shared by a block of output elements. What depends on a reduction index is a step inside that
// reduction's loop, everything else is hoisted out of it.
#include "ops/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "ops/arithmetic.h"
#include "sym/scale.h"

namespace dlcb::ops {
namespace {

using sym::Expr;
constexpr int kLanes = 512;
constexpr int kDispatch = 8;  // calling a step costs as much as it does for so many lanes

struct Register {  // one of the two is used
  std::vector<double> f;
  std::vector<int64_t> i;
};
using Step = std::function<void(int lanes)>;

struct Scope {
  std::vector<Step> steps;
  std::vector<Expr> bound;
  std::vector<size_t> inner;  // reductions that are run through in this scope
  std::unordered_map<uint32_t, Register*> scalars, exprs;
};

class Program {
 public:
  Program(const ScalarStore& store, const ReferenceInputs& inputs)
      : store_(store), sym_(store.sym()), inputs_(inputs) {}

  Result<Tensor> run(const OutputDef& output) {
    DLCB_ASSIGN(Tensor result, allocate(output));
    const int64_t size = result.size();
    if (size == 0) return result;
    const Register* body = compile_output(output);
    if (missing_) return std::move(*missing_);
    for (int64_t first = 0; first < size; first += kLanes) {
      const int lanes = static_cast<int>(std::min<int64_t>(kLanes, size - first));
      set_indices(output, result.dims, first, lanes);
      for (const Step& step : scopes_[0].steps) step(lanes);
      for (int n = 0; n < lanes; ++n)
        is_float(result.dtype) ? result.set_real(first + n, body->f[n]) : result.set_integer(first + n, body->i[n]);
    }
    return result;
  }

  double steps(const OutputDef& output) {
    double size = 1;
    for (Expr d : output.dims) {
      const auto v = sym_.evaluate(d, inputs_.symbol);
      size *= v ? static_cast<double>(*v) : HUGE_VAL;
    }
    compile_output(output);
    if (missing_) return HUGE_VAL;
    const double blocks = std::ceil(size / kLanes);
    return (size + blocks * kDispatch) * (static_cast<double>(output.dims.size() + 1) + steps_of(scopes_[0]));
  }

 private:
  const Register* compile_output(const OutputDef& output) {
    scopes_.emplace_back();
    for (Expr i : output.index) scopes_[0].exprs[i.id] = integers();
    return compile(output.body);
  }

  // For one element of the output.
  double steps_of(const Scope& scope) const {
    double steps = static_cast<double>(scope.steps.size());
    for (size_t inner : scope.inner) {
      double trips = 1;
      for (Expr i : scopes_[inner].bound) {
        const int64_t extent = sym_.bounds(sym_.index_extent(i)).hi;
        trips *= extent == sym::kMax ? HUGE_VAL : static_cast<double>(extent);
      }
      steps += trips * (1 + steps_of(scopes_[inner]));  // 1: accumulating
    }
    return steps;
  }

  Result<Tensor> allocate(const OutputDef& output) {
    std::vector<int64_t> dims;
    int64_t size = 1;
    for (Expr d : output.dims) {
      const auto v = sym_.evaluate(d, inputs_.symbol);
      if (!v || *v < 0)
        return diag(DiagKind::UnknownShape, {"a result", "the size " + sym::outline(sym_, d) + " has no value"});
      if (*v != 0 && size > (int64_t{1} << 40) / *v)
        return diag(DiagKind::UnknownShape, {"a result", "it is too large"});
      size *= *v;
      dims.push_back(*v);
    }
    return Tensor::zeros(output.dtype, std::move(dims));
  }

  void set_indices(const OutputDef& output, const std::vector<int64_t>& dims, int64_t first, int lanes) {
    int64_t stride = 1;
    for (size_t a = dims.size(); a-- > 0; stride *= dims[a]) {
      Register* r = scopes_[0].exprs.at(output.index[a].id);
      int64_t index = first / stride % dims[a], left = stride - first % stride;  // elements until the index moves on
      for (int n = 0; n < lanes; ++n) {
        r->i[n] = index;
        if (--left > 0) continue;
        left = stride;
        if (++index == dims[a]) index = 0;
      }
    }
  }

  Register* integers() {
    registers_.emplace_back();
    registers_.back().i.resize(kLanes);
    return &registers_.back();
  }
  Register* reals() {
    registers_.emplace_back();
    registers_.back().f.resize(kLanes);
    return &registers_.back();
  }
  Register* of(DType t) { return is_float(t) ? reals() : integers(); }

  // The innermost open scope that a set of free symbols reaches into.
  size_t level(std::span<const Expr> free) const {
    for (size_t l = open_.size(); l-- > 0;)
      for (Expr b : scopes_[open_[l]].bound)
        if (std::binary_search(free.begin(), free.end(), b)) return open_[l];
    return 0;
  }
  void fail(std::string what) {
    if (!missing_) missing_ = diag(DiagKind::UnknownShape, {"a result", std::move(what)});
  }

  // ---- integer expressions ----
  Register* compile(Expr e) {
    std::vector<Expr> free;
    for (Expr s : sym_.symbols(e)) {
      free.push_back(s);
      if (Scalar data = store_.binding(s); data.valid()) {
        const auto inner = store_.symbols(data);
        free.insert(free.end(), inner.begin(), inner.end());
      }
    }
    std::sort(free.begin(), free.end());
    const size_t scope = level(free);
    if (auto at = scopes_[scope].exprs.find(e.id); at != scopes_[scope].exprs.end()) return at->second;
    Register* r = build(e, scope);
    scopes_[scope].exprs[e.id] = r;
    return r;
  }

  Register* build(Expr e, size_t scope) {
    if (auto c = sym_.as_const(e)) return constant(*c);
    if (sym_.kind(e) == sym::Kind::Symbol) {
      if (Scalar data = store_.binding(e); data.valid()) return compile(data);
      const auto v = inputs_.symbol ? inputs_.symbol(e) : std::nullopt;
      if (!v) fail("the value of " + std::string(sym_.symbol_name(e)) + " is not known");
      return constant(v.value_or(0));
    }
    std::vector<const Register*> in;
    for (Expr o : std::vector<Expr>(sym_.operands(e).begin(), sym_.operands(e).end())) in.push_back(compile(o));
    Register* out = integers();
    scopes_[scope].steps.push_back(expr_step(e, std::move(in), out));
    return out;
  }

  Register* constant(int64_t v) {
    Register* r = integers();
    std::fill(r->i.begin(), r->i.end(), v);
    return r;
  }

  template <class F>
  static Step fold(std::vector<const Register*> in, Register* out, const F& f) {
    return [in = std::move(in), out, f](int lanes) {
      for (int n = 0; n < lanes; ++n) {
        int64_t v = in[0]->i[n];
        for (size_t k = 1; k < in.size(); ++k) v = f(v, in[k]->i[n]);
        out->i[n] = v;
      }
    };
  }

  Step expr_step(Expr e, std::vector<const Register*> in, Register* out) {
    using K = sym::Kind;
    switch (sym_.kind(e)) {
      case K::Sum: {
        const auto c = sym_.coefficients(e);
        return [in, out, base = sym_.sum_constant(e), c = std::vector<int64_t>(c.begin(), c.end())](int lanes) {
          for (int n = 0; n < lanes; ++n) {
            auto v = static_cast<uint64_t>(base);
            for (size_t k = 0; k < in.size(); ++k)
              v += static_cast<uint64_t>(c[k]) * static_cast<uint64_t>(in[k]->i[n]);
            out->i[n] = static_cast<int64_t>(v);
          }
        };
      }
      case K::Product:
        return fold(std::move(in), out, [](int64_t a, int64_t b) {
          return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        });
      case K::FloorDiv:
        return fold(std::move(in), out,
                    [](int64_t a, int64_t b) { return b == 0 ? 0 : (a - apply_i(Fn::Mod, DType::I64, a, b)) / b; });
      case K::Mod:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return apply_i(Fn::Mod, DType::I64, a, b); });
      case K::Min:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return std::min(a, b); });
      case K::Max:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return std::max(a, b); });
      case K::Eq:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return int64_t{a == b}; });
      case K::Le:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return int64_t{a <= b}; });
      case K::Lt:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return int64_t{a < b}; });
      case K::And:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return int64_t{a && b}; });
      case K::Or:
        return fold(std::move(in), out, [](int64_t a, int64_t b) { return int64_t{a || b}; });
      case K::Not:
        return [in, out](int lanes) {
          for (int n = 0; n < lanes; ++n) out->i[n] = in[0]->i[n] == 0;
        };
      case K::Select:
        return [in, out](int lanes) {
          for (int n = 0; n < lanes; ++n) out->i[n] = in[in[0]->i[n] ? 1 : 2]->i[n];
        };
      case K::FloorScale:
      case K::CeilScale:
        return [in, out, scale = sym_.scale(e), up = sym_.kind(e) == K::CeilScale](int lanes) {
          for (int n = 0; n < lanes; ++n) {
            const double v = sym::scaled(in[0]->i[n], scale);
            out->i[n] = static_cast<int64_t>(up ? std::ceil(v) : std::floor(v));
          }
        };
      default:
        DLCB_CHECK(false, "unknown expression kind");
    }
  }

  // ---- elements ----
  Register* compile(Scalar s) {
    const size_t scope = level(store_.symbols(s));
    if (auto at = scopes_[scope].scalars.find(s.id); at != scopes_[scope].scalars.end()) return at->second;
    Register* r = build(s, scope);
    scopes_[scope].scalars[s.id] = r;
    return r;
  }

  Register* build(Scalar s, size_t scope) {
    const ScalarNode& n = store_.node(s);
    if (n.kind == ScalarKind::ConstI) return constant(n.i);
    if (n.kind == ScalarKind::ConstF) {
      Register* r = reals();
      std::fill(r->f.begin(), r->f.end(), n.f);
      return r;
    }
    if (n.kind == ScalarKind::Reduce) return reduce(n, scope);
    if (n.kind == ScalarKind::Load) return load(n, scope);
    std::vector<const Register*> in;
    for (Scalar o : n.operands) in.push_back(compile(o));
    if (n.kind == ScalarKind::Index) in.push_back(compile(n.index));
    Register* out = of(n.dtype);
    const DType from = n.operands.empty() ? DType::I64 : store_.dtype(n.operands[0]);
    scopes_[scope].steps.push_back(element_step(n, from, std::move(in), out));
    return out;
  }

  static Step element_step(const ScalarNode& n, DType from, std::vector<const Register*> in, Register* out) {
    const DType t = n.dtype;
    switch (n.kind) {
      case ScalarKind::Index:
        return [=](int lanes) {
          for (int k = 0; k < lanes; ++k) out->i[k] = wrap_to(t, in[0]->i[k]);
        };
      case ScalarKind::Cast:
        return cast_step(from, t, in[0], out);
      case ScalarKind::Select:
        if (is_float(t))
          return [=](int lanes) {
            for (int k = 0; k < lanes; ++k) out->f[k] = in[in[0]->i[k] ? 1 : 2]->f[k];
          };
        return [=](int lanes) {
          for (int k = 0; k < lanes; ++k) out->i[k] = in[in[0]->i[k] ? 1 : 2]->i[k];
        };
      default:
        return function_step(n.fn, from, t, in[0], in.back(), out);
    }
  }

  static Step cast_step(DType from, DType to, const Register* in, Register* out) {
    return [=](int lanes) {
      for (int k = 0; k < lanes; ++k) {
        if (is_float(from) && is_float(to))
          out->f[k] = round_to(to, in->f[k]);
        else if (is_float(from))
          out->i[k] = float_to_integer(to, in->f[k]);
        else if (is_float(to))
          out->f[k] = integer_to_float(from, in->i[k], to);
        else
          out->i[k] = wrap_to(to, in->i[k]);
      }
    };
  }

  static Step function_step(Fn fn, DType from, DType to, const Register* a, const Register* b, Register* out) {
    if (!is_float(from))
      return [=](int lanes) {
        for (int k = 0; k < lanes; ++k) out->i[k] = apply_i(fn, from, a->i[k], b->i[k]);
      };
    if (to == DType::Bool)
      return [=](int lanes) {
        for (int k = 0; k < lanes; ++k) out->i[k] = apply_test(fn, a->f[k], b->f[k]);
      };
    return [=](int lanes) {
      for (int k = 0; k < lanes; ++k) out->f[k] = apply_f(fn, from, a->f[k], b->f[k]);
    };
  }

  Register* load(const ScalarNode& n, size_t scope) {
    auto view = inputs_.tensor ? inputs_.tensor(n.value) : std::nullopt;
    Register* out = of(n.dtype);
    if (!view || view->dtype != n.dtype || view->dims.size() != n.coords.size()) {
      fail("a tensor that it needs has no data");
      return out;
    }
    struct Source {
      DType dtype;
      std::vector<int64_t> dims;
      std::span<const std::byte> bytes;
    } source{view->dtype, {view->dims.begin(), view->dims.end()}, view->bytes};
    std::vector<const Register*> coords;
    for (Expr c : n.coords) coords.push_back(compile(c));
    scopes_[scope].steps.push_back([=](int lanes) {
      for (int k = 0; k < lanes; ++k) {
        int64_t at = 0;
        bool inside = true;
        for (size_t a = 0; a < coords.size(); ++a) {
          const int64_t c = coords[a]->i[k];
          inside &= c >= 0 && c < source.dims[a];
          at = at * source.dims[a] + c;
        }
        if (is_float(source.dtype))
          out->f[k] = inside ? read_real(source.dtype, source.bytes.data(), at) : 0;
        else
          out->i[k] = inside ? read_integer(source.dtype, source.bytes.data(), at) : 0;
      }
    });
    return out;
  }

  template <class T>
  static T raw(const std::byte* bytes, int64_t at) {
    T v;
    std::memcpy(&v, bytes + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return v;
  }
  static double read_real(DType t, const std::byte* bytes, int64_t at) {
    switch (t) {
      case DType::F32:
        return raw<float>(bytes, at);
      case DType::F64:
        return raw<double>(bytes, at);
      case DType::F16:
        return half_to_double(raw<uint16_t>(bytes, at));
      default:
        return bfloat_to_double(raw<uint16_t>(bytes, at));
    }
  }
  static int64_t read_integer(DType t, const std::byte* bytes, int64_t at) {
    switch (size_of(t)) {
      case 1:
        return wrap_to(t, raw<int8_t>(bytes, at));
      case 2:
        return wrap_to(t, raw<int16_t>(bytes, at));
      case 4:
        return wrap_to(t, raw<int32_t>(bytes, at));
      default:
        return raw<int64_t>(bytes, at);
    }
  }

  // The loop over all combinations of the bound indices. Extents may differ from lane to lane only through outer
  // indices of reductions, never through output indices: they are read from lane 0.
  Register* reduce(const ScalarNode& n, size_t scope) {
    std::vector<const Register*> extents;
    for (Expr i : n.coords) extents.push_back(compile(sym_.index_extent(i)));
    const size_t inner = scopes_.size();
    scopes_.emplace_back();
    scopes_[inner].bound = n.coords;
    std::vector<Register*> bound;
    for (Expr i : n.coords) {
      bound.push_back(integers());
      scopes_[inner].exprs[i.id] = bound.back();
    }
    open_.push_back(inner);
    const Register* body = compile(n.operands[0]);
    open_.pop_back();
    Register* out = of(n.dtype);
    scopes_[scope].inner.push_back(inner);
    scopes_[scope].steps.push_back([this, extents, bound, inner, body, out, fn = n.reduce, t = n.dtype](int lanes) {
      begin(fn, t, out, lanes);
      loop(0, extents, bound, inner, lanes, [&] { accumulate(fn, t, body, out, lanes); });
      if (is_float(t))
        for (int k = 0; k < lanes; ++k) out->f[k] = round_to(t, out->f[k]);
    });
    return out;
  }

  static void begin(ReduceFn fn, DType t, Register* out, int lanes) {
    if (is_float(t))
      std::fill_n(out->f.begin(), lanes, reduce_identity_f(fn));
    else
      std::fill_n(out->i.begin(), lanes, reduce_identity_i(fn, t));
  }

  static void accumulate(ReduceFn fn, DType t, const Register* body, Register* out, int lanes) {
    const Fn combine = combine_fn(fn);
    if (is_float(t) && fn == ReduceFn::Sum) {
      for (int k = 0; k < lanes; ++k) out->f[k] += body->f[k];
    } else if (is_float(t)) {
      for (int k = 0; k < lanes; ++k) out->f[k] = apply_f(combine, DType::F64, out->f[k], body->f[k]);
    } else {
      for (int k = 0; k < lanes; ++k) out->i[k] = apply_i(combine, t, out->i[k], body->i[k]);
    }
  }

  void loop(size_t depth, const std::vector<const Register*>& extents, const std::vector<Register*>& bound,
            size_t inner, int lanes, const std::function<void()>& visit) {
    if (depth == extents.size()) {
      for (const Step& step : scopes_[inner].steps) step(lanes);
      return visit();
    }
    const int64_t extent = extents[depth]->i[0];
    for (int64_t v = 0; v < extent; ++v) {
      std::fill_n(bound[depth]->i.begin(), lanes, v);
      loop(depth + 1, extents, bound, inner, lanes, visit);
    }
  }

  const ScalarStore& store_;
  const sym::Store& sym_;
  const ReferenceInputs& inputs_;
  std::deque<Register> registers_;
  std::deque<Scope> scopes_;  // 0: the output's elements; others: reductions
  std::vector<size_t> open_;  // reductions being compiled, outermost first
  std::optional<Diagnostic> missing_;
};

}  // namespace

double evaluation_steps(const ScalarStore& scalars, const OutputDef& output, const ReferenceInputs& inputs) {
  DLCB_CHECK(output.body.valid(), "only defined outputs can be evaluated");
  return Program(scalars, inputs).steps(output);
}

Result<Tensor> evaluate(const ScalarStore& scalars, const OutputDef& output, const ReferenceInputs& inputs) {
  DLCB_CHECK(output.body.valid(), "only defined outputs can be evaluated");
  return Program(scalars, inputs).run(output);
}

Result<std::vector<Tensor>> evaluate(const ScalarStore& scalars, const Definition& definition,
                                     const ReferenceInputs& inputs) {
  std::vector<Tensor> out;
  for (const OutputDef& o : definition.outputs) {
    DLCB_ASSIGN(Tensor t, evaluate(scalars, o, inputs));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace dlcb::ops
