// Random matmul and convolution calls over host memory, and their values by plain loops in double: shared by the
// simulator's tests and the check on a GPU.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime_stub/sim/half.h"
#include "runtime_stub/src/device.h"

namespace dlcb::testing {

enum : int { kF32 = 0, kF16 = 1, kBF16 = 2, kF64 = 3 };  // compiler/base/dtype.h
inline size_t element_size(int dtype) { return dtype == kF64 ? 8 : dtype == kF32 ? 4 : 2; }
inline const char* dtype_name(int dtype) {
  return dtype == kF64 ? "f64" : dtype == kF32 ? "f32" : dtype == kF16 ? "f16" : "bf16";
}

// A tensor in its element type, with the values that are really stored.
struct Values {
  int dtype = kF32;
  std::vector<double> value;
  std::vector<uint8_t> bytes;

  Values() = default;
  Values(int type, size_t count) : dtype(type), value(count), bytes(count * element_size(type)) {}
  void set(size_t i, double v) {
    if (dtype == kF64) {
      store(i, v);
    } else if (dtype == kF32) {
      store(i, float(v));
    } else {
      store(i, dtype == kF16 ? dlcb_sim_f2h(float(v)) : dlcb_sim_f2b(float(v)));
    }
    value[i] = get(i);
  }
  double get(size_t i) const {
    if (dtype == kF64) return load<double>(i);
    if (dtype == kF32) return load<float>(i);
    return dtype == kF16 ? dlcb_sim_h2f(load<uint16_t>(i)) : dlcb_sim_b2f(load<uint16_t>(i));
  }
  void randomize(std::mt19937& random, double scale) {
    std::uniform_real_distribution<double> d(-scale, scale);
    for (size_t i = 0; i < value.size(); ++i) set(i, d(random));
  }

 private:
  template <class T>
  void store(size_t i, T v) {
    std::memcpy(&bytes[i * sizeof(T)], &v, sizeof(T));
  }
  template <class T>
  T load(size_t i) const {
    T v;
    std::memcpy(&v, &bytes[i * sizeof(T)], sizeof(T));
    return v;
  }
};

inline double activated(int activation, double x) {
  switch (activation) {
    case 0:
      return x;
    case 1:
      return x < 0 ? 0 : x;
    case 2:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case 3:
      return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
    case 4:
      return x / (1 + std::exp(-x));
    case 5:
      return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case 6:
      return 1 / (1 + std::exp(-x));
    case 8:
      return std::tanh(x);
    default:
      return NAN;
  }
}

// A matmul with its operands; pointers in `call` are for whoever places the operands to fill in.
struct MatmulCase {
  rt::MatmulCall call{};
  Values a, b, bias, residual;
  size_t c_elements = 0;

  // Expected C over c_elements; elements outside the matrix keep `outside`.
  std::vector<double> expected(double outside) const {
    std::vector<double> c(c_elements, outside);
    for (int64_t e = 0; e < call.batch; ++e)
      for (int64_t i = 0; i < call.m; ++i)
        for (int64_t j = 0; j < call.n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < call.k; ++k)
            sum += a.value[size_t(e * call.stride_a + (call.trans_a ? k * call.lda + i : i * call.lda + k))] *
                   b.value[size_t(e * call.stride_b + (call.trans_b ? j * call.ldb + k : k * call.ldb + j))];
          const size_t at = size_t(e * call.stride_c + i * call.ldc + j);
          sum *= call.alpha;
          if (!bias.value.empty()) sum += bias.value[size_t(j)];
          if (!residual.value.empty()) sum += residual.value[at];
          c[at] = activated(call.activation, sum);
        }
    return c;
  }
};

struct MatmulOptions {
  int dtype = kF32;
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool trans_a = false, trans_b = false, bias = false, residual = false, share_a = false, share_b = false, tf32 = false;
  int64_t slack = 0;  // added to every row pitch
  int activation = 0;
  double alpha = 1;
};

inline MatmulCase make_matmul(const MatmulOptions& o, std::mt19937& random) {
  MatmulCase t;
  rt::MatmulCall& c = t.call;
  c.dtype = o.dtype;
  c.m = o.m;
  c.n = o.n;
  c.k = o.k;
  c.batch = o.batch;
  c.trans_a = o.trans_a;
  c.trans_b = o.trans_b;
  c.tf32 = o.tf32;
  c.alpha = o.alpha;
  c.activation = o.activation;
  c.lda = (o.trans_a ? o.m : o.k) + o.slack;
  c.ldb = (o.trans_b ? o.k : o.n) + o.slack;
  c.ldc = o.n + o.slack;
  const int64_t size_a = (o.trans_a ? o.k : o.m) * c.lda, size_b = (o.trans_b ? o.n : o.k) * c.ldb,
                size_c = o.m * c.ldc;
  c.stride_a = o.share_a ? 0 : size_a;
  c.stride_b = o.share_b ? 0 : size_b;
  c.stride_c = size_c;
  t.a = Values(o.dtype, size_t(size_a * (o.share_a ? 1 : o.batch)));
  t.b = Values(o.dtype, size_t(size_b * (o.share_b ? 1 : o.batch)));
  t.c_elements = size_t(size_c * o.batch);
  t.a.randomize(random, 1);
  t.b.randomize(random, 1);
  if (o.bias) t.bias = Values(o.dtype, size_t(o.n));
  if (o.residual) t.residual = Values(o.dtype, t.c_elements);
  t.bias.randomize(random, 2);
  t.residual.randomize(random, 2);
  return t;
}

struct ConvCase {
  rt::ConvCall call{};
  Values x, w, bias, residual;
  size_t y_elements = 0;

  double products() const { return double(y_elements) * double(call.r * call.s * call.c / call.groups); }
  // One element of y.
  double expected_at(size_t index) const {
    const rt::ConvCall& c = call;
    const auto i = int64_t(index);
    const int64_t k = i % c.k, q = i / c.k % c.q, p = i / c.k / c.q % c.p, n = i / c.k / c.q / c.p;
    const int64_t cg = c.c / c.groups, kg = c.k / c.groups, first = k / kg * cg;
    double sum = 0;
    for (int64_t r = 0; r < c.r; ++r)
      for (int64_t s = 0; s < c.s; ++s) {
        const int64_t h = source(p, r, 0), v = source(q, s, 1);
        if (h < 0 || v < 0 || h >= c.h || v >= c.wd) continue;
        for (int64_t ch = 0; ch < cg; ++ch)
          sum += x.value[size_t(((n * c.h + h) * c.wd + v) * c.c + first + ch)] *
                 w.value[size_t(c.transposed ? (((first + ch) * c.r + r) * c.s + s) * kg + k % kg
                                             : ((k * c.r + r) * c.s + s) * cg + ch)];
      }
    if (!bias.value.empty()) sum += bias.value[size_t(k)];
    if (!residual.value.empty()) sum += residual.value[index];
    return activated(c.activation, sum);
  }

  std::vector<double> expected() const {
    const rt::ConvCall& c = call;
    std::vector<double> y(y_elements);
    for (int64_t n = 0; n < c.n; ++n)
      for (int64_t g = 0; g < c.groups; ++g) scatter_or_gather(n, g, y);
    for (size_t i = 0; i < y.size(); ++i) {
      if (!bias.value.empty()) y[i] += bias.value[i % size_t(c.k)];
      if (!residual.value.empty()) y[i] += residual.value[i];
      y[i] = activated(c.activation, y[i]);
    }
    return y;
  }

 private:
  // The input position that output position `at` meets at a tap, -1 when there is none.
  int64_t source(int64_t at, int64_t tap, int i) const {
    if (!call.transposed) return at * call.stride[i] - call.pad[i] + tap * call.dilation[i];
    const int64_t v = at + call.pad[i] - tap * call.dilation[i];
    return v >= 0 && v % call.stride[i] == 0 ? v / call.stride[i] : -1;
  }
  // Walks the pairs (small side, big side) that one tap links; a transposed convolution adds the other way round.
  void scatter_or_gather(int64_t n, int64_t g, std::vector<double>& y) const {
    const rt::ConvCall& c = call;
    const int64_t cg = c.c / c.groups, kg = c.k / c.groups;
    const int64_t small_h = c.transposed ? c.h : c.p, small_w = c.transposed ? c.wd : c.q;
    const int64_t big_h = c.transposed ? c.p : c.h, big_w = c.transposed ? c.q : c.wd;
    for (int64_t i = 0; i < small_h; ++i)
      for (int64_t j = 0; j < small_w; ++j)
        for (int64_t r = 0; r < c.r; ++r)
          for (int64_t s = 0; s < c.s; ++s) {
            const int64_t u = i * c.stride[0] - c.pad[0] + r * c.dilation[0],
                          v = j * c.stride[1] - c.pad[1] + s * c.dilation[1];
            if (u < 0 || v < 0 || u >= big_h || v >= big_w) continue;
            const int64_t xh = c.transposed ? i : u, xw = c.transposed ? j : v;
            const int64_t yh = c.transposed ? u : i, yw = c.transposed ? v : j;
            for (int64_t k = g * kg; k < (g + 1) * kg; ++k)
              for (int64_t ch = g * cg; ch < (g + 1) * cg; ++ch) {
                const int64_t weight = c.transposed ? ((ch * c.r + r) * c.s + s) * kg + k - g * kg
                                                    : ((k * c.r + r) * c.s + s) * cg + ch - g * cg;
                y[size_t(((n * c.p + yh) * c.q + yw) * c.k + k)] +=
                    x.value[size_t(((n * c.h + xh) * c.wd + xw) * c.c + ch)] * w.value[size_t(weight)];
              }
          }
  }
};

struct ConvOptions {
  int dtype = kF32;
  int64_t n = 1, h = 5, w = 5, c = 1, k = 1, r = 1, s = 1;
  int pad[4] = {0, 0, 0, 0}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  int64_t groups = 1, output_padding = 0;
  bool transposed = false, bias = false, residual = false, tf32 = false;
  int activation = 0;
};

// Whether the window lies within the padded input; there is no such convolution otherwise.
inline bool fits(const ConvOptions& o) {
  return o.transposed || ((o.r - 1) * o.dilation[0] < o.h + o.pad[0] + o.pad[2] &&
                          (o.s - 1) * o.dilation[1] < o.w + o.pad[1] + o.pad[3]);
}

inline ConvCase make_conv(const ConvOptions& o, std::mt19937& random) {
  ConvCase t;
  rt::ConvCall& c = t.call;
  c.dtype = o.dtype;
  c.n = o.n;
  c.h = o.h;
  c.wd = o.w;
  c.c = o.c;
  c.k = o.k;
  c.r = o.r;
  c.s = o.s;
  std::copy(o.pad, o.pad + 4, c.pad);
  std::copy(o.stride, o.stride + 2, c.stride);
  std::copy(o.dilation, o.dilation + 2, c.dilation);
  c.groups = o.groups;
  c.transposed = o.transposed;
  c.tf32 = o.tf32;
  c.activation = o.activation;
  auto out = [&](int64_t in, int64_t taps, int i) {
    const int64_t reach = o.dilation[i] * (taps - 1) + 1, pads = o.pad[i] + o.pad[i + 2];
    return o.transposed ? (in - 1) * o.stride[i] + reach - pads + o.output_padding
                        : (in + pads - reach) / o.stride[i] + 1;
  };
  c.p = out(o.h, o.r, 0);
  c.q = out(o.w, o.s, 1);
  t.y_elements = size_t(c.n * c.p * c.q * c.k);
  t.x = Values(o.dtype, size_t(c.n * c.h * c.wd * c.c));
  t.w = Values(o.dtype, size_t(c.k * c.r * c.s * c.c / c.groups));
  t.x.randomize(random, 1);
  t.w.randomize(random, 1);
  if (o.bias) t.bias = Values(o.dtype, size_t(c.k));
  if (o.residual) t.residual = Values(o.dtype, t.y_elements);
  t.bias.randomize(random, 2);
  t.residual.randomize(random, 2);
  return t;
}

}  // namespace dlcb::testing
