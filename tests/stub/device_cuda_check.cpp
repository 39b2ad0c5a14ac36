// Checks the CUDA device on a machine with a GPU: memory, generated kernels' prelude, graphs, and every form of matmul
// and convolution against loops in double. One line a case: result, error, time of one call inside a graph. Exit code 1
// when anything failed, 2 when there is no device.
//   device_cuda_check [substring of the cases to run]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "device_kernels.h"
#include "device_math_calls.h"
#include "device_nvrtc.h"
#include "runtime_stub/include/dlcb.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

std::string g_only;
int g_failed = 0, g_run = 0;

void report(const std::string& name, bool good, double error, double us, const std::string& note) {
  ++g_run;
  g_failed += !good;
  std::printf("%-4s %-72s error %.2e  %9.2f us  %s\n", good ? "ok" : "FAIL", name.c_str(), error, us, note.c_str());
  std::fflush(stdout);
}
bool wanted(const std::string& name) { return name.find(g_only) != std::string::npos; }

class Gpu {
 public:
  explicit Gpu(std::shared_ptr<rt::Device> device) : device_(std::move(device)) {}
  rt::Device& operator*() { return *device_; }

  rt::Ptr put(const void* bytes, size_t size) {
    rt::Ptr p = 0;
    if (size == 0) return 0;
    must(device_->allocate(size, &p, nullptr));
    must(device_->upload(p, bytes, size, nullptr));
    owned_.push_back(p);
    return p;
  }
  rt::Ptr put(const Values& v) { return put(v.bytes.data(), v.bytes.size()); }
  template <class T>
  rt::Ptr put(const std::vector<T>& v) {
    return put(v.data(), v.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> get(rt::Ptr p, size_t count) {
    std::vector<T> out(count);
    must(device_->download(out.data(), p, count * sizeof(T), nullptr));
    return out;
  }
  void get(rt::Ptr p, Values* v) {
    must(device_->download(v->bytes.data(), p, v->bytes.size(), nullptr));
    for (size_t i = 0; i < v->value.size(); ++i) v->value[i] = v->get(i);
  }
  void release() {
    for (rt::Ptr p : owned_) device_->free(p, nullptr);
    owned_.clear();
  }
  static void must(const rt::Error& error) {
    if (!error) return;
    std::printf("FAIL %s\n", error.message.c_str());
    std::exit(1);
  }

  // Microseconds of one call when many run in one graph; negative when it cannot be captured.
  double time(const std::function<rt::Error()>& call) {
    constexpr int kCalls = 20;
    if (device_->begin_capture(nullptr)) return -1;
    rt::Error error;
    for (int i = 0; i < kCalls && !error; ++i) error = call();
    void* graph = nullptr;
    if (device_->end_capture(nullptr, &graph) || error || !graph) return -1;
    double best = 1e30;
    for (int round = 0; round < 6; ++round) {
      must(device_->synchronize(nullptr));
      const auto begin = std::chrono::steady_clock::now();
      must(device_->replay(graph, nullptr));
      must(device_->synchronize(nullptr));
      best =
          std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    device_->free_graph(graph);
    return best / kCalls;
  }

 private:
  std::shared_ptr<rt::Device> device_;
  std::vector<rt::Ptr> owned_;
};

double tolerance(int dtype, bool tf32, int64_t terms) {
  const double rounding = dtype == kF64 ? 1e-14 : dtype == kF32 ? (tf32 ? 1e-3 : 2e-6) : dtype == kF16 ? 1e-3 : 8e-3;
  return rounding * (4 + std::sqrt(double(terms)) * (dtype == kF32 || dtype == kF64 ? 1 : 0.1));
}
double difference(double got, double want) {
  const double d = std::abs(got - want) / (1 + std::abs(want));
  return std::isnan(d) ? 1e30 : d;
}
double worst_of(const Values& got, const std::vector<double>& want) {
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, difference(got.value[i], want[i]));
  return worst;
}

// An unsupported case is no failure of ours where `may_refuse`: the bundle's generated kernel runs then.
void check_call(const std::string& name, const rt::Error& error, double worst, double tolerated, double us,
                bool may_refuse) {
  if (error)
    report(name, may_refuse && error.status == DLCB_MISSING_LIBRARY, 0, 0, error.message);
  else
    report(name, worst <= tolerated && us >= 0, worst, us, us < 0 ? "cannot be captured" : "");
}

void run_matmul(Gpu& gpu, const MatmulOptions& o, std::mt19937& random, bool may_refuse = false) {
  char name[160];
  std::snprintf(name, sizeof name, "matmul %s%s %ldx%ldx%ld b%ld %c%c%s%s%s%s act%d slack%ld", dtype_name(o.dtype),
                o.tf32 ? " tf32" : "", long(o.m), long(o.n), long(o.k), long(o.batch), o.trans_a ? 'T' : 'N',
                o.trans_b ? 'T' : 'N', o.bias ? " bias" : "", o.residual ? " res" : "", o.share_a ? " shareA" : "",
                o.share_b ? " shareB" : "", o.activation, long(o.slack));
  if (!wanted(name)) return;
  MatmulCase t = make_matmul(o, random);
  Values c(o.dtype, t.c_elements);
  for (size_t i = 0; i < t.c_elements; ++i) c.set(i, 7);
  t.call.a = gpu.put(t.a);
  t.call.b = gpu.put(t.b);
  t.call.c = gpu.put(c);
  t.call.bias = gpu.put(t.bias);
  t.call.residual = gpu.put(t.residual);
  const rt::Error error = (*gpu).matmul(t.call, nullptr);
  double worst = 0, us = 0;
  if (!error) {
    gpu.get(t.call.c, &c);
    if (double(o.m) * o.n * o.k * o.batch < 5e8) worst = worst_of(c, t.expected(7));
    us = gpu.time([&] { return (*gpu).matmul(t.call, nullptr); });
  }
  check_call(name, error, worst, tolerance(o.dtype, o.tf32, o.k), us, may_refuse);
  gpu.release();
}

void check_matmuls(Gpu& gpu) {
  std::mt19937 random(1);
  for (int dtype : {kF32, kF16, kBF16, kF64})
    for (int bits = 0; bits < 64; ++bits) {
      MatmulOptions o;
      o.dtype = dtype;
      o.trans_a = bits & 1;
      o.trans_b = bits & 2;
      o.bias = bits & 4;
      o.residual = bits & 8;
      o.activation = bits & 16 ? 1 : 0;
      o.batch = bits & 32 ? 3 : 1;
      o.share_a = o.batch > 1 && bits % 3 == 1;
      o.share_b = o.batch > 1 && bits % 3 == 0;
      o.m = std::vector<int64_t>{1, 17, 64, 100}[random() % 4];
      o.n = std::vector<int64_t>{8, 33, 64, 120}[random() % 4];
      o.k = std::vector<int64_t>{1, 40, 64, 129}[random() % 4];
      o.slack = bits % 5 == 4 ? 3 : 0;
      o.alpha = bits % 7 == 6 ? 0.125 : 1;
      o.tf32 = dtype == kF32 && bits % 2;
      // Odd pitches and epilogues that one type or another lacks are the generated kernel's.
      run_matmul(gpu, o, random, o.slack || dtype == kF64 || o.n % 8 || o.k % 8 || o.batch > 1);
    }
  for (int dtype : {kF16, kBF16, kF32})
    for (bool bias : {false, true}) {
      MatmulOptions gelu;
      gelu.dtype = dtype;
      gelu.m = 128;
      gelu.n = 256;
      gelu.k = 64;
      gelu.bias = bias;
      gelu.activation = 2;
      run_matmul(gpu, gelu, random);
    }
  MatmulOptions empty;
  empty.m = 5;
  empty.n = 6;
  empty.k = 0;
  empty.slack = 2;
  run_matmul(gpu, empty, random);
}

void time_matmuls(Gpu& gpu) {
  std::mt19937 random(2);
  const int64_t sizes[][3] = {{128, 2304, 768},  {4096, 2304, 768},  {4096, 768, 768}, {4096, 3072, 768},
                              {4096, 768, 3072}, {12288, 3072, 768}, {1, 4096, 4096},  {4096, 4096, 4096}};
  for (auto& s : sizes)
    for (int variant = 0; variant < 3; ++variant) {
      MatmulOptions o;
      o.dtype = kF16;
      o.m = s[0];
      o.n = s[1];
      o.k = s[2];
      o.bias = true;
      o.activation = variant == 2 ? 2 : 0;
      o.residual = variant == 1;
      run_matmul(gpu, o, random);
    }
  MatmulOptions o;
  o.m = o.n = o.k = 2048;
  run_matmul(gpu, o, random);
  o.tf32 = true;
  run_matmul(gpu, o, random);
}

void run_conv(Gpu& gpu, const ConvOptions& o, std::mt19937& random, bool may_refuse = false) {
  char name[200];
  std::snprintf(
      name, sizeof name, "conv%s %s%s n%ld %ldx%ld c%ld k%ld %ldx%ld pad%d,%d,%d,%d s%d,%d d%d,%d g%ld%s%s act%d",
      o.transposed ? "T" : "", dtype_name(o.dtype), o.tf32 ? " tf32" : "", long(o.n), long(o.h), long(o.w), long(o.c),
      long(o.k), long(o.r), long(o.s), o.pad[0], o.pad[1], o.pad[2], o.pad[3], o.stride[0], o.stride[1], o.dilation[0],
      o.dilation[1], long(o.groups), o.bias ? " bias" : "", o.residual ? " res" : "", o.activation);
  if (!wanted(name)) return;
  ConvCase t = make_conv(o, random);
  Values y(o.dtype, t.y_elements);
  t.call.x = gpu.put(t.x);
  t.call.w = gpu.put(t.w);
  t.call.y = gpu.put(y);
  t.call.bias = gpu.put(t.bias);
  t.call.residual = gpu.put(t.residual);
  const auto begin = std::chrono::steady_clock::now();
  const rt::Error error = (*gpu).conv(t.call, nullptr);
  const double first_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  double worst = 0, us = 0;
  if (!error) {
    gpu.get(t.call.y, &y);
    const bool all = t.products() < 2e8;
    for (size_t i = 0; i < (all ? t.y_elements : 20000); ++i) {
      const size_t at = all ? i : random() % t.y_elements;
      worst = std::max(worst, difference(y.value[at], t.expected_at(at)));
    }
    us = gpu.time([&] { return (*gpu).conv(t.call, nullptr); });
  }
  check_call(std::string(name) + (first_ms > 100 ? " (first " + std::to_string(int(first_ms)) + " ms)" : ""), error,
             worst, tolerance(o.dtype, o.tf32, o.c * o.r * o.s / o.groups), us, may_refuse);
  gpu.release();
}

void check_convs(Gpu& gpu) {
  std::mt19937 random(3);
  auto pick = [&](std::vector<int> from) { return from[random() % from.size()]; };
  for (int dtype : {kF32, kF16, kBF16})
    for (int round = 0; round < 40; ++round) {
      ConvOptions o;
      o.dtype = dtype;
      o.n = pick({1, 2, 5});
      o.h = pick({7, 14, 23});
      o.w = pick({9, 16, 30});
      o.r = pick({1, 3, 3, 5});
      o.s = pick({1, 3, 3, 4});
      o.groups = pick({1, 1, 1, 2, 16});
      o.c = o.groups * pick({1, 4, 8});
      o.k = o.groups * pick({1, 4, 8});
      if (o.groups == 1) o.c = pick({3, 8, 32, 64}), o.k = pick({8, 24, 64});
      for (int& p : o.pad) p = pick({0, 1, 1});
      for (int& s : o.stride) s = pick({1, 1, 2, 3});
      for (int& d : o.dilation) d = pick({1, 1, 2});
      if (!fits(o)) o.dilation[0] = o.dilation[1] = 1;
      o.transposed = round % 8 == 7;
      o.output_padding = o.transposed && o.stride[0] > 1 && o.stride[1] > 1 ? round / 8 % 2 : 0;
      o.bias = round & 1;
      o.residual = round & 2;
      o.activation = round & 4 ? 1 : 0;
      if (o.transposed) o.bias = o.residual = false, o.activation = 0;
      o.tf32 = dtype == kF32 && round % 2;
      run_conv(gpu, o, random, o.groups > 1 || o.transposed);
    }
  ConvOptions up;  // transposed with an epilogue: taken or handed back
  up.dtype = kF16;
  up.n = 2;
  up.h = up.w = 8;
  up.c = up.k = 16;
  up.r = up.s = 2;
  up.stride[0] = up.stride[1] = 2;
  up.transposed = up.bias = true;
  run_conv(gpu, up, random, true);
}

// ResNet-50's shapes: what a residual costs and whether the first plan is a good one.
void time_convs(Gpu& gpu) {
  std::mt19937 random(4);
  const int shapes[][5] = {{64, 64, 1, 1, 56},   {64, 64, 3, 1, 56},   {64, 256, 1, 1, 56},
                           {128, 512, 1, 1, 28}, {128, 128, 3, 1, 28}, {256, 256, 3, 1, 14},
                           {512, 512, 3, 1, 7},  {3, 64, 7, 2, 224},   {8, 64, 7, 2, 224}};
  for (auto& s : shapes)
    for (int residual = 0; residual < 2; ++residual) {
      ConvOptions o;
      o.dtype = kF16;
      o.n = 32;
      o.c = s[0];
      o.k = s[1];
      o.r = o.s = s[2];
      o.stride[0] = o.stride[1] = s[3];
      o.h = o.w = s[4];
      for (int& p : o.pad) p = s[2] / 2;
      o.bias = true;
      o.activation = 1;
      o.residual = residual;
      run_conv(gpu, o, random);
    }
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, 4) == 0; }

// Kernels compiled from the prelude, so that the two preludes agree on real hardware too.
void check_conversions(Gpu& gpu) {
  if (!wanted("kernel conversions")) return;
  std::vector<uint16_t> halves(65536);
  std::vector<float> floats(1 << 22);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = uint16_t(i);
  for (size_t i = 0; i < floats.size();
       ++i) {  // every exponent and top mantissa bits, with the bits that decide a rounding
    const uint32_t low[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001};
    const uint32_t bits = uint32_t(i >> 3) << 13 ^ low[i & 7];
    std::memcpy(&floats[i], &bits, 4);
  }
  const rt::Ptr x = gpu.put(halves), h = gpu.put(std::vector<float>(65536)), b = gpu.put(std::vector<float>(65536));
  Gpu::must((*gpu).launch({2, {256, 1, 1}, {256, 1, 1}, 0, {x, h, b}}, nullptr));
  const rt::Ptr f = gpu.put(floats), fh = gpu.put(std::vector<uint16_t>(floats.size())),
                fb = gpu.put(std::vector<uint16_t>(floats.size()));
  Gpu::must((*gpu).launch({3, {uint32_t(floats.size() / 256), 1, 1}, {256, 1, 1}, 0, {f, fh, fb}}, nullptr));
  size_t wrong = 0;
  const auto wide_h = gpu.get<float>(h, 65536), wide_b = gpu.get<float>(b, 65536);
  for (size_t i = 0; i < 65536; ++i)
    wrong += !same(wide_h[i], dlcb_sim_h2f(halves[i])) + !same(wide_b[i], dlcb_sim_b2f(halves[i]));
  const auto narrow_h = gpu.get<uint16_t>(fh, floats.size()), narrow_b = gpu.get<uint16_t>(fb, floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    wrong += std::isnan(floats[i]) ? !std::isnan(dlcb_sim_h2f(narrow_h[i])) : narrow_h[i] != dlcb_sim_f2h(floats[i]);
    wrong += std::isnan(floats[i]) ? !std::isnan(dlcb_sim_b2f(narrow_b[i])) : narrow_b[i] != dlcb_sim_f2b(floats[i]);
  }
  report("kernel conversions of halves", wrong == 0, double(wrong), 0, "");
  gpu.release();
}

void check_reductions(Gpu& gpu) {
  if (!wanted("kernel reductions")) return;
  const uint32_t rows = 37, n = 777, threads = 256;
  std::vector<float> x(rows * n);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 13);
  const rt::Ptr in = gpu.put(x), out = gpu.put(std::vector<float>(rows * threads));
  const rt::LaunchCall call{0, {rows, 1, 1}, {threads, 1, 1}, 0, {in, out, n, threads}};
  Gpu::must((*gpu).launch(call, nullptr));
  const auto y = gpu.get<float>(out, rows * threads);
  size_t wrong = 0;
  for (uint32_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += x[r * n + i];
    for (uint32_t t = 0; t < threads; ++t) wrong += y[r * threads + t] != sum;
  }
  const double us = gpu.time([&] { return (*gpu).launch(call, nullptr); });
  report("kernel reductions", wrong == 0 && us > 0, double(wrong), us, "");

  // Dynamic shared memory beyond the default limit, in a graph that is replayed on changed input.
  std::vector<int32_t> values(512);
  for (int i = 0; i < 512; ++i) values[size_t(i)] = i;
  const rt::Ptr a = gpu.put(values);
  Gpu::must((*gpu).begin_capture(nullptr));
  const rt::Error launched = (*gpu).launch({1, {1, 1, 1}, {512, 1, 1}, 200 << 10, {a, a, 512}}, nullptr);
  void* graph = nullptr;
  Gpu::must((*gpu).end_capture(nullptr, &graph));
  Gpu::must(launched);
  for (int i = 0; i < 3; ++i) Gpu::must((*gpu).replay(graph, nullptr));
  (*gpu).free_graph(graph);
  const auto reversed = gpu.get<int32_t>(a, 512);
  wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += reversed[size_t(i)] != 511 - i;
  report("kernel graph with 200 KiB of shared memory, three replays", wrong == 0, double(wrong), 0, "");
  gpu.release();
}

// A bundle whose launches pass other parameters than the code takes is not opened, where the driver tells.
void check_parameters(rt::DeviceConfig config) {
  config.entries[0].params = "p";
  std::shared_ptr<rt::Device> device;
  const rt::Error error = rt::open_cuda(config, &device);
  const bool old = error.status == DLCB_OK;  // a driver before CUDA 12.4
  report("parameters", old || error.status == DLCB_BAD_BUNDLE, 0, 0, old ? "not compared" : error.message);
}

void check_memory(Gpu& gpu) {
  if (!wanted("memory")) return;
  std::vector<uint32_t> values(20 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = uint32_t(i * 2654435761u);
  const auto begin = std::chrono::steady_clock::now();
  const rt::Ptr a = gpu.put(values);
  Gpu::must((*gpu).synchronize(nullptr));
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  const rt::Ptr b = gpu.put(std::vector<uint32_t>(values.size()));
  Gpu::must((*gpu).copy(b, a, values.size() * 4, nullptr));
  report("memory upload of 80 MiB, copy, download", gpu.get<uint32_t>(b, values.size()) == values, 0, us,
         "upload time");
  rt::Ptr huge = 0;
  const rt::Error error = (*gpu).allocate(size_t(1) << 50, &huge, nullptr);
  report("memory refusal", error.status == DLCB_OUT_OF_MEMORY, 0, 0, error.message);
  gpu.release();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_only = argv[1];
  rt::DeviceConfig config;
  const Nvrtc nvrtc;
  std::vector<uint8_t> cubins[2];
  const char* texts[] = {kReductions, kConversions};
  if (nvrtc.available()) {
    // One family after the other until the device takes it; cubins run within their major version.
    config.modules = 2;
    config.entries = {{"row_sum", 0, 1024, true, "pp44"},
                      {"reverse3", 0, 512, true, "pp4"},
                      {"widen", 1, 256, false, "ppp"},
                      {"narrow", 1, 256, false, "ppp"}};
    config.module_image = [&](uint32_t m, std::string_view target) {
      nvrtc.compile(texts[m], std::string(target), &cubins[m]);
      return std::span<const uint8_t>(cubins[m]);
    };
    config.targets = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};
  }
  std::shared_ptr<rt::Device> device;
  if (const rt::Error error = rt::open_cuda(config, &device)) {
    std::printf("%s\n", error.message.c_str());
    return 2;
  }
  std::printf("%s\n", device->name().c_str());
  {
    Gpu gpu(device);
    check_memory(gpu);
    if (nvrtc.available()) {
      check_conversions(gpu);
      check_reductions(gpu);
      check_parameters(config);
    } else {
      std::printf("note: no libnvrtc, so no kernel was run\n");
    }
    check_matmuls(gpu);
    check_convs(gpu);
    time_matmuls(gpu);
    time_convs(gpu);
  }
  std::shared_ptr<rt::Device> forked;
  report("fork", !device->fork(&forked) && forked, 0, 0, "");
  std::printf("%d cases, %d failed\n", g_run, g_failed);
  return g_failed ? 1 : 0;
}
