// Output files and previews; see outputs.h.
#include "cmd/run/outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "cmd/tensor_io/npy.h"
#include "cmd/tensor_io/number.h"
#include "cmd/tensor_io/tensor_proto.h"

namespace dlcb::cmd {
namespace {

std::string file_name_of(const std::string& output) {
  std::string name;
  for (char c : output) {
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  return name;
}

}  // namespace

std::vector<std::string> output_files(const std::vector<Port>& ports, const std::string& format) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string stem = format == "pb" ? "output_" + std::to_string(i) : file_name_of(ports[i].name), name = stem;
    for (int k = 1; !taken.insert(name).second; ++k) name = stem + "." + std::to_string(k);
    files.push_back(name + "." + format);
  }
  return files;
}

Status write_outputs(const std::string& folder, const std::string& format, const std::vector<Port>& ports,
                     const std::vector<Tensor>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return diag(DiagKind::CannotWrite, {folder, error.message()});
  std::vector<std::string> files = output_files(ports, format);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string path = (std::filesystem::path(folder) / files[i]).string();
    DLCB_TRY(format == "pb" ? write_tensor_proto(path, ports[i].name, outputs[i]) : write_npy(path, outputs[i]));
  }
  return ok();
}

std::string preview(const Tensor& tensor, size_t limit) {
  size_t count = tensor.bytes.size() / size_of(tensor.dtype);
  std::string text;
  for (size_t i = 0; i < count && i < limit; ++i) {
    if (i > 0) text += ", ";
    if (is_float(tensor.dtype)) {
      text += fmt::format("{:.6g}", load_number(tensor.dtype, tensor.bytes.data(), i));
    } else {
      int64_t value = load_integer(tensor.dtype, tensor.bytes.data(), i);
      text += tensor.dtype == DType::U64 ? fmt::format("{}", static_cast<uint64_t>(value)) : fmt::format("{}", value);
    }
  }
  if (count > limit) text += fmt::format(", ... ({} values)", count);
  return count == 0 ? "(no values)" : text;
}

}  // namespace dlcb::cmd
