// Kernels of all cases on one simulated device; elements to bytes and back.
#include "launch.h"

#include <bit>
#include <cstring>

#include "catch.h"
#include "ops/arithmetic.h"
#include "runtime_stub/sim/sim.h"
#include "temp_folder.h"

namespace dlcb::testing {

std::vector<Compiled> compile_cases(const kernel::GenerateOptions& options) {
  std::vector<Compiled> result;
  for (auto& c : all_cases()) {
    INFO(c->name);
    CHECK(kernel::classify(c->scalars, c->facts, c->region).schedule == c->schedule);
    auto k = kernel::generate(c->scalars, c->facts, c->region, options);
    REQUIRE(k);
    result.push_back({std::move(c), *std::move(k)});
  }
  return result;
}

Machine open_machine(std::span<const Compiled> cases) {
  static const TempFolder folder;
  Machine machine;
  rt::DeviceConfig config;
  std::string text;
  for (const Compiled& c : cases) {
    for (const kernel::Function& f : c.kernel.functions) {
      if (!machine.entries.emplace(f.name, config.entries.size()).second) continue;
      config.entries.push_back({f.name, 0, f.max_threads, f.syncs, std::nullopt});
      text += f.text + "\n";
    }
  }
  config.sim_cache_dir = folder.path.string();
  config.modules = 1;
  config.module_image = [&](uint32_t, std::string_view) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  rt::Error error;
  dlcb_sim_open(&config, &machine.device, &error);
  INFO(error.message);
  REQUIRE(!error);
  return machine;
}

namespace {

template <class T>
void put(std::vector<uint8_t>& bytes, size_t i, T v) {
  std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
}
template <class T>
T get(const std::vector<uint8_t>& bytes, size_t i) {
  T v;
  std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
  return v;
}

// The multiplier and shift of mdiv for a divisor.
std::pair<uint64_t, uint64_t> magic(int64_t d) {
  uint64_t shift = 0;
  while ((int64_t{1} << shift) < d) shift++;
  uint64_t mul =
      ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - static_cast<uint64_t>(d))) / static_cast<uint64_t>(d) + 1;
  return {mul & 0xffffffffu, shift};
}

}  // namespace

std::vector<uint8_t> to_bytes(DType t, const Elements& elements) {
  std::vector<uint8_t> bytes(elements.size() * size_of(t));
  for (size_t i = 0; i < elements.size(); i++) {
    switch (t) {
      case DType::F32:
        put(bytes, i, static_cast<float>(elements[i]));
        break;
      case DType::F64:
        put(bytes, i, elements[i]);
        break;
      case DType::F16:
        put(bytes, i, ops::double_to_half(elements[i]));
        break;
      case DType::BF16:
        put(bytes, i, ops::double_to_bfloat(elements[i]));
        break;
      case DType::I64:
        put(bytes, i, static_cast<int64_t>(elements[i]));
        break;
      case DType::I32:
        put(bytes, i, static_cast<int32_t>(elements[i]));
        break;
      case DType::Bool:
      case DType::U8:
        put(bytes, i, static_cast<uint8_t>(elements[i]));
        break;
      default:
        FAIL("no test uses this type");
    }
  }
  return bytes;
}

Elements from_bytes(DType t, const std::vector<uint8_t>& bytes) {
  Elements elements(bytes.size() / size_of(t));
  for (size_t i = 0; i < elements.size(); i++) {
    switch (t) {
      case DType::F32:
        elements[i] = get<float>(bytes, i);
        break;
      case DType::F64:
        elements[i] = get<double>(bytes, i);
        break;
      case DType::F16:
        elements[i] = ops::half_to_double(get<uint16_t>(bytes, i));
        break;
      case DType::BF16:
        elements[i] = ops::bfloat_to_double(get<uint16_t>(bytes, i));
        break;
      case DType::I64:
        elements[i] = static_cast<double>(get<int64_t>(bytes, i));
        break;
      case DType::I32:
        elements[i] = get<int32_t>(bytes, i);
        break;
      case DType::Bool:
      case DType::U8:
        elements[i] = get<uint8_t>(bytes, i);
        break;
      default:
        FAIL("no test uses this type");
    }
  }
  return elements;
}

std::vector<Elements> launch(const Machine& machine, Env& env, const kernel::Variant& variant) {
  rt::Device& device = *machine.device;
  const kernel::Region& region = *env.region;
  std::map<uint32_t, rt::Ptr> buffers;
  for (const kernel::Tensor& t : region.inputs) {
    std::vector<uint8_t> bytes = to_bytes(t.dtype, env.tensors.at(t.value.id));
    REQUIRE(!device.allocate(bytes.size(), &buffers[t.value.id], nullptr));
    REQUIRE(!device.upload(buffers[t.value.id], bytes.data(), bytes.size(), nullptr));
  }
  std::vector<std::vector<uint8_t>> outs;
  for (const kernel::Output& o : region.outputs) {
    outs.emplace_back(static_cast<size_t>(count(env, o.tensor)) * size_of(o.tensor.dtype), uint8_t{0xff});
    REQUIRE(!device.allocate(outs.back().size(), &buffers[o.tensor.value.id], nullptr));
    REQUIRE(!device.upload(buffers[o.tensor.value.id], outs.back().data(), outs.back().size(), nullptr));
  }
  rt::LaunchCall call;
  call.entry = machine.entries.at(variant.entry);
  bool empty = false;
  for (int i = 0; i < 3; i++) {
    call.grid[i] = static_cast<uint32_t>(env.integer(variant.grid[i]));
    call.block[i] = static_cast<uint32_t>(env.integer(variant.block[i]));
    empty = empty || call.grid[i] == 0;
  }
  call.shared_bytes = static_cast<uint32_t>(env.integer(variant.shared_bytes));
  for (const kernel::Arg& a : variant.args) {
    switch (a.kind) {
      case kernel::Arg::Pointer:
        call.args.push_back(buffers.at(a.tensor.id));
        break;
      case kernel::Arg::MagicMul:
        call.args.push_back(magic(env.integer(a.value)).first);
        break;
      case kernel::Arg::MagicShift:
        call.args.push_back(magic(env.integer(a.value)).second);
        break;
      default:
        call.args.push_back(static_cast<uint64_t>(env.integer(a.value)));
    }
  }
  if (!empty) {
    rt::Error error = device.launch(call, nullptr);
    if (!error) error = device.synchronize(nullptr);
    INFO(error.message);
    REQUIRE(!error);
  }
  std::vector<Elements> result;
  for (size_t i = 0; i < outs.size(); i++) {
    const kernel::Tensor& t = region.outputs[i].tensor;
    REQUIRE(!device.download(outs[i].data(), buffers.at(t.value.id), outs[i].size(), nullptr));
    result.push_back(from_bytes(t.dtype, outs[i]));
  }
  for (auto [id, p] : buffers) device.free(p, nullptr);
  return result;
}

}  // namespace dlcb::testing
