#include "reference.h"

#include <cmath>

#include "compiler/base/dtype.h"
#include "half.h"
#include "runtime_stub/include/dlcb.h"
#include "thread_pool.h"

namespace dlcb::sim {
namespace {

enum Activation {
  kNone,
  kRelu,
  kGeluTanh,
  kGeluErf,
  kSilu,
  kHardSwish,
  kSigmoid,
  kHardSigmoid,
  kTanh,
  kClip
};  // program.fbs

// Typed views: element i as the type sums are made in, and back.
template <class T>
struct Plain {
  using Sum = T;
  T* p;
  Sum load(int64_t i) const { return p[i]; }
  void store(int64_t i, Sum v) const { p[i] = v; }
};
struct Half {
  using Sum = float;
  uint16_t* p;
  Sum load(int64_t i) const { return dlcb_sim_h2f(p[i]); }
  void store(int64_t i, Sum v) const { p[i] = dlcb_sim_f2h(v); }
};
struct Bfloat {
  using Sum = float;
  uint16_t* p;
  Sum load(int64_t i) const { return dlcb_sim_b2f(p[i]); }
  void store(int64_t i, Sum v) const { p[i] = dlcb_sim_f2b(v); }
};

template <class V>
V view(rt::Ptr p) {
  return V{reinterpret_cast<decltype(V::p)>(p)};
}

template <class F>
void with_view(int dtype, F&& f) {
  switch (DType(dtype)) {
    case DType::F16:
      return f(Half{});
    case DType::BF16:
      return f(Bfloat{});
    case DType::F64:
      return f(Plain<double>{});
    default:
      return f(Plain<float>{});
  }
}

template <class T>
T activate(int activation, T x) {
  switch (activation) {
    case kRelu:
      return x < 0 ? T(0) : x;  // keeps NaN
    case kGeluTanh:
      return T(0.5) * x * (1 + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
    case kGeluErf:
      return T(0.5) * x * (1 + std::erf(x * T(0.7071067811865476)));
    case kSilu:
      return x / (1 + std::exp(-x));
    case kHardSwish:
      return x * std::fmin(std::fmax(x / 6 + T(0.5), T(0)), T(1));
    case kSigmoid:
      return 1 / (1 + std::exp(-x));
    case kTanh:
      return std::tanh(x);
    default:
      return x;
  }
}

template <class V, class Acc>
void write_matmul(const rt::MatmulCall& c, const Acc* acc) {
  const auto out = view<V>(c.c), bias = view<V>(c.bias), residual = view<V>(c.residual);
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        const int64_t at = b * c.stride_c + i * c.ldc + j;
        Acc v = Acc(c.alpha) * acc[(b * c.m + i) * c.n + j];
        if (c.bias) v += bias.load(j);
        if (c.residual) v += residual.load(at);
        out.store(at, typename V::Sum(activate(c.activation, v)));
      }
}

template <class V, class Acc>
void write_conv(const rt::ConvCall& c, const Acc* acc) {
  const auto y = view<V>(c.y), bias = view<V>(c.bias), residual = view<V>(c.residual);
  const int64_t pixels = c.n * c.p * c.q;
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t k = 0; k < c.k; ++k) {
      const int64_t at = i * c.k + k;
      Acc v = acc[at];
      if (c.bias) v += bias.load(k);
      if (c.residual) v += residual.load(at);
      y.store(at, typename V::Sum(activate(c.activation, v)));
    }
}

template <class V>
void matmul_loops(const rt::MatmulCall& c) {
  using Sum = typename V::Sum;
  const auto a = view<V>(c.a), b = view<V>(c.b);
  std::vector<Sum> acc(size_t(c.batch * c.m * c.n));
  ThreadPool::shared().parallel_for(uint64_t(c.batch * c.m), [&](uint64_t begin, uint64_t end) {
    for (int64_t row = int64_t(begin); row < int64_t(end); ++row) {
      const int64_t e = row / c.m, i = row % c.m;
      for (int64_t j = 0; j < c.n; ++j) {
        Sum sum = 0;
        for (int64_t k = 0; k < c.k; ++k)
          sum += a.load(e * c.stride_a + (c.trans_a ? k * c.lda + i : i * c.lda + k)) *
                 b.load(e * c.stride_b + (c.trans_b ? j * c.ldb + k : k * c.ldb + j));
        acc[size_t(row * c.n + j)] = sum;
      }
    }
  });
  write_matmul<V>(c, acc.data());
}

// The products that reach output (n, p, q, k).
template <class V>
typename V::Sum conv_at(const rt::ConvCall& c, int64_t n, int64_t p, int64_t q, int64_t k) {
  const auto x = view<V>(c.x), w = view<V>(c.w);
  const int64_t cg = c.c / c.groups, kg = c.k / c.groups, first = k / kg * cg;
  typename V::Sum sum = 0;
  for (int64_t r = 0; r < c.r; ++r)
    for (int64_t s = 0; s < c.s; ++s) {
      int64_t h, v;
      if (c.transposed) {
        h = p + c.pad[0] - r * c.dilation[0];
        v = q + c.pad[1] - s * c.dilation[1];
        if (h < 0 || v < 0 || h % c.stride[0] || v % c.stride[1]) continue;
        h /= c.stride[0];
        v /= c.stride[1];
      } else {
        h = p * c.stride[0] - c.pad[0] + r * c.dilation[0];
        v = q * c.stride[1] - c.pad[1] + s * c.dilation[1];
      }
      if (h < 0 || v < 0 || h >= c.h || v >= c.wd) continue;
      for (int64_t i = 0; i < cg; ++i) {
        const int64_t weight =
            c.transposed ? (((first + i) * c.r + r) * c.s + s) * kg + k % kg : ((k * c.r + r) * c.s + s) * cg + i;
        sum += x.load(((n * c.h + h) * c.wd + v) * c.c + first + i) * w.load(weight);
      }
    }
  return sum;
}

template <class V>
void conv_loops(const rt::ConvCall& c) {
  std::vector<typename V::Sum> acc(size_t(c.n * c.p * c.q * c.k));
  ThreadPool::shared().parallel_for(uint64_t(c.n * c.p * c.q), [&](uint64_t begin, uint64_t end) {
    for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
      for (int64_t k = 0; k < c.k; ++k)
        acc[size_t(i * c.k + k)] = conv_at<V>(c, i / (c.p * c.q), i / c.q % c.p, i % c.q, k);
  });
  write_conv<V>(c, acc.data());
}

}  // namespace

rt::Error check_supported(int dtype, int activation) {
  if (dtype < 0 || dtype > int(DType::F64))
    return {DLCB_MISSING_LIBRARY, "no library takes element type " + std::to_string(dtype)};
  if (activation < kNone || activation > kTanh ||
      activation == kHardSigmoid)  // those left need parameters the step lacks
    return {DLCB_MISSING_LIBRARY, "no library takes activation " + std::to_string(activation)};
  return {};
}

void finish_matmul(const rt::MatmulCall& call, const float* acc) {
  with_view(call.dtype, [&](auto v) { write_matmul<decltype(v)>(call, acc); });
}
void finish_conv(const rt::ConvCall& call, const float* acc) {
  with_view(call.dtype, [&](auto v) { write_conv<decltype(v)>(call, acc); });
}
void reference_matmul(const rt::MatmulCall& call) {
  with_view(call.dtype, [&](auto v) { matmul_loops<decltype(v)>(call); });
}
void reference_conv(const rt::ConvCall& call) {
  with_view(call.dtype, [&](auto v) { conv_loops<decltype(v)>(call); });
}

std::vector<float> to_float(int dtype, rt::Ptr from, size_t count) {
  std::vector<float> out(count);
  with_view(dtype, [&](auto v) {
    const auto in = view<decltype(v)>(from);
    for (size_t i = 0; i < count; ++i) out[i] = float(in.load(int64_t(i)));
  });
  return out;
}

}  // namespace dlcb::sim
