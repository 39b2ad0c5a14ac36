#include "onednn.h"

#if defined(DLCB_SIM_ONEDNN)
#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "compiler/base/dtype.h"
#include "reference.h"

namespace dlcb::sim {
namespace {

using dnnl::memory;
using Dims = memory::dims;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc floats(const Dims& dims, const Dims& strides) { return {dims, memory::data_type::f32, strides}; }
memory::desc any_layout(const Dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

// An operand as floats: the caller's own memory when it is f32.
class Floats {
 public:
  Floats(int dtype, rt::Ptr p, size_t count) : data_(reinterpret_cast<float*>(p)) {
    if (dtype == int(DType::F32)) return;
    converted_ = to_float(dtype, p, count);
    data_ = converted_.data();
  }
  float* data() { return data_; }

 private:
  std::vector<float> converted_;
  float* data_;
};

// Elements from the first to one past the last of a [batch, rows, cols] operand.
size_t span_of(int64_t batch, int64_t stride, int64_t rows, int64_t pitch, int64_t cols) {
  return size_t((batch - 1) * stride + (rows - 1) * pitch + cols);
}

// Runs `primitive` after bringing operands into the layouts it chose. `wanted` maps an argument to its chosen layout.
void execute(const dnnl::primitive& primitive, std::unordered_map<int, memory> args,
             const std::unordered_map<int, memory::desc>& wanted) {
  dnnl::stream stream(cpu());
  for (auto& [arg, desc] : wanted) {
    memory& given = args.at(arg);
    if (given.get_desc() == desc) continue;
    memory chosen(desc, cpu());
    dnnl::reorder(given, chosen).execute(stream, given, chosen);
    given = chosen;
  }
  primitive.execute(stream, args);
  stream.wait();
}

// oneDNN takes only matrices that lie one after another; ours may be interleaved (attention heads side by side in each row).
bool is_interleaved(int64_t batch, int64_t stride, int64_t rows, int64_t ld) { return batch > 1 && stride > 0 && stride < rows * ld; }

rt::MatmulCall one_of_batch(const rt::MatmulCall& c, int64_t index) {
  const auto bytes = static_cast<int64_t>(size_of(static_cast<DType>(c.dtype)));
  rt::MatmulCall one = c;
  one.batch = 1;
  one.a += static_cast<rt::Ptr>(index * c.stride_a * bytes);
  one.b += static_cast<rt::Ptr>(index * c.stride_b * bytes);
  one.c += static_cast<rt::Ptr>(index * c.stride_c * bytes);
  if (c.residual) one.residual += static_cast<rt::Ptr>(index * c.stride_c * bytes);
  return one;
}

void run_matmul(const rt::MatmulCall& c) {
  if (is_interleaved(c.batch, c.stride_a, c.trans_a ? c.k : c.m, c.lda) || is_interleaved(c.batch, c.stride_b, c.trans_b ? c.n : c.k, c.ldb)) {
    for (int64_t i = 0; i < c.batch; ++i) run_matmul(one_of_batch(c, i));
    return;
  }
  const int64_t rows_a = c.trans_a ? c.k : c.m, cols_a = c.trans_a ? c.m : c.k;
  const int64_t rows_b = c.trans_b ? c.n : c.k, cols_b = c.trans_b ? c.k : c.n;
  const int64_t batch_a = c.stride_a ? c.batch : 1, batch_b = c.stride_b ? c.batch : 1;
  Floats a(c.dtype, c.a, span_of(batch_a, c.stride_a, rows_a, c.lda, cols_a));
  Floats b(c.dtype, c.b, span_of(batch_b, c.stride_b, rows_b, c.ldb, cols_b));
  std::vector<float> out(size_t(c.batch * c.m * c.n));

  // A stride of a dim of size 1 is never used, but oneDNN wants it positive.
  const int64_t sa = std::max<int64_t>(c.stride_a, rows_a * c.lda), sb = std::max<int64_t>(c.stride_b, rows_b * c.ldb);
  const auto desc_a = floats({batch_a, c.m, c.k}, c.trans_a ? Dims{sa, 1, c.lda} : Dims{sa, c.lda, 1});
  const auto desc_b = floats({batch_b, c.k, c.n}, c.trans_b ? Dims{sb, 1, c.ldb} : Dims{sb, c.ldb, 1});
  const auto desc_c = floats({c.batch, c.m, c.n}, {c.m * c.n, c.n, 1});
#if DNNL_VERSION_MAJOR >= 3
  dnnl::matmul::primitive_desc pd(cpu(), desc_a, desc_b, desc_c);
#else
  dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(desc_a, desc_b, desc_c), cpu());
#endif
  execute(dnnl::matmul(pd),
          {{DNNL_ARG_SRC, memory(desc_a, cpu(), a.data())},
           {DNNL_ARG_WEIGHTS, memory(desc_b, cpu(), b.data())},
           {DNNL_ARG_DST, memory(desc_c, cpu(), out.data())}},
          {});
  finish_matmul(c, out.data());
}

// What both kinds of convolution are described by, in oneDNN's terms.
struct ConvShape {
  Dims src, dst, weights, stride, dilation, pad_before, pad_after;
  memory::desc src_desc, dst_desc, weights_desc;
};

ConvShape shape_of(const rt::ConvCall& c) {
  ConvShape s;
  s.src = {c.n, c.c, c.h, c.wd};
  s.dst = {c.n, c.k, c.p, c.q};
  s.src_desc = floats(s.src, {c.h * c.wd * c.c, 1, c.wd * c.c, c.c});
  s.dst_desc = floats(s.dst, {c.p * c.q * c.k, 1, c.q * c.k, c.k});
  const int64_t g = c.groups, cg = c.c / g, kg = c.k / g, taps = c.r * c.s;
  // [groups, outputs, inputs, r, s] over KRSC (CRSK when transposed) memory.
  s.weights = {g, kg, cg, c.r, c.s};
  s.weights_desc = floats(s.weights, c.transposed ? Dims{cg * taps * kg, 1, taps * kg, c.s * kg, kg}
                                                  : Dims{kg * taps * cg, taps * cg, 1, c.s * cg, cg});
  s.stride = {c.stride[0], c.stride[1]};
  s.dilation = {c.dilation[0] - 1, c.dilation[1] - 1};
  s.pad_before = {c.pad[0], c.pad[1]};
  const int64_t in[2] = {c.h, c.wd}, out[2] = {c.p, c.q}, kernel[2] = {c.r, c.s};
  for (int i = 0; i < 2; ++i) {  // from the output's size, which already accounts for rounding and output padding
    const int64_t reach = c.dilation[i] * (kernel[i] - 1) + 1;
    s.pad_after.push_back(c.transposed ? (in[i] - 1) * c.stride[i] + reach - c.pad[i] - out[i]
                                       : std::max<int64_t>(0, (out[i] - 1) * c.stride[i] + reach - in[i] - c.pad[i]));
  }
  return s;
}

template <class Conv, class Desc>
void execute_conv(const rt::ConvCall& c, const ConvShape& s, const Desc& pd) {
  Floats x(c.dtype, c.x, size_t(c.n * c.h * c.wd * c.c));
  Floats w(c.dtype, c.w, size_t(c.k * c.r * c.s * c.c / c.groups));
  std::vector<float> out(size_t(c.n * c.p * c.q * c.k));
  execute(Conv(pd),
          {{DNNL_ARG_SRC, memory(s.src_desc, cpu(), x.data())},
           {DNNL_ARG_WEIGHTS, memory(s.weights_desc, cpu(), w.data())},
           {DNNL_ARG_DST, memory(s.dst_desc, cpu(), out.data())}},
          {{DNNL_ARG_WEIGHTS, pd.weights_desc()}});
  finish_conv(c, out.data());
}

void run_conv(const rt::ConvCall& c) {
  const ConvShape s = shape_of(c);
  const auto w = any_layout(s.weights);
  const auto kind = dnnl::prop_kind::forward_inference;
  if (c.transposed) {
    const auto algorithm = dnnl::algorithm::deconvolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    dnnl::deconvolution_forward::primitive_desc pd(cpu(), kind, algorithm, s.src_desc, w, s.dst_desc, s.stride,
                                                   s.dilation, s.pad_before, s.pad_after);
#else
    dnnl::deconvolution_forward::primitive_desc pd(
        dnnl::deconvolution_forward::desc(kind, algorithm, s.src_desc, w, s.dst_desc, s.stride, s.dilation,
                                          s.pad_before, s.pad_after),
        cpu());
#endif
    return execute_conv<dnnl::deconvolution_forward>(c, s, pd);
  }
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  dnnl::convolution_forward::primitive_desc pd(cpu(), kind, algorithm, s.src_desc, w, s.dst_desc, s.stride, s.dilation,
                                               s.pad_before, s.pad_after);
#else
  dnnl::convolution_forward::primitive_desc pd(
      dnnl::convolution_forward::desc(kind, algorithm, s.src_desc, w, s.dst_desc, s.stride, s.dilation, s.pad_before,
                                      s.pad_after),
      cpu());
#endif
  execute_conv<dnnl::convolution_forward>(c, s, pd);
}

bool takes(int dtype) { return dtype <= int(DType::BF16); }

}  // namespace

bool onednn_matmul(const rt::MatmulCall& call) {
  if (!takes(call.dtype) || call.k == 0) return false;
  try {
    run_matmul(call);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

bool onednn_conv(const rt::ConvCall& call) {
  if (!takes(call.dtype) || call.h == 0 || call.wd == 0 || call.c == 0) return false;
  try {
    run_conv(call);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace dlcb::sim
#else
namespace dlcb::sim {
bool onednn_matmul(const rt::MatmulCall&) { return false; }
bool onednn_conv(const rt::ConvCall&) { return false; }
}  // namespace dlcb::sim
#endif
