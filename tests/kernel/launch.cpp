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

namespace {

using Buffers = std::map<uint32_t, rt::Ptr>;

void run(const Machine& machine, Env& env, const kernel::Variant& variant, const Buffers& buffers) {
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
  if (empty) return;
  rt::Error error = machine.device->launch(call, nullptr);
  if (!error) error = machine.device->synchronize(nullptr);
  INFO(error.message);
  REQUIRE(!error);
}

}  // namespace

std::vector<Elements> launch(const Machine& machine, Env& env, const kernel::Kernel& kernel,
                             const kernel::Variant& variant) {
  rt::Device& device = *machine.device;
  const kernel::Region& region = *env.region;
  Buffers buffers;
  const auto place = [&](ops::ValueId v, const std::vector<uint8_t>& bytes) {
    REQUIRE(!device.allocate(bytes.size(), &buffers[v.id], nullptr));
    REQUIRE(!device.upload(buffers[v.id], bytes.data(), bytes.size(), nullptr));
  };
  const auto garbage = [](int64_t count, DType t) {
    return std::vector<uint8_t>(static_cast<size_t>(count) * size_of(t), uint8_t{0xff});
  };
  for (const kernel::Tensor& t : region.inputs) place(t.value, to_bytes(t.dtype, env.tensors.at(t.value.id)));
  for (const kernel::Output& o : region.outputs) place(o.tensor.value, garbage(count(env, o.tensor), o.tensor.dtype));
  for (uint32_t i = 0; kernel.combine && i < kernel.combine->workspaces.size(); i++) {
    const auto& w = kernel.combine->workspaces[i];
    place(kernel::workspace(i), garbage(env.integer(w.elements), w.dtype));
  }
  run(machine, env, variant, buffers);
  if (kernel.combine && env.integer(kernel.combine->when) != 0) run(machine, env, kernel.combine->variant, buffers);
  std::vector<Elements> result;
  for (const kernel::Output& o : region.outputs) {
    std::vector<uint8_t> bytes = garbage(count(env, o.tensor), o.tensor.dtype);
    REQUIRE(!device.download(bytes.data(), buffers.at(o.tensor.value.id), bytes.size(), nullptr));
    result.push_back(from_bytes(o.tensor.dtype, bytes));
  }
  for (auto [id, p] : buffers) device.free(p, nullptr);
  return result;
}

}  // namespace dlcb::testing
