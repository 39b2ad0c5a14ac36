#include "dump.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace dlcb {

Dump::Dump(std::string folder, std::string weights_name)
    : folder_(std::move(folder)), weights_(folder_, std::move(weights_name)) {}

Status Dump::text(const std::string& file, std::string_view text) {
  if (!wanted()) return ok();
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return diag(DiagKind::CannotWrite, {folder_, error.message()});
  return write_file((std::filesystem::path(folder_) / file).string(), text);
}

Status Dump::graph(const std::string& file, const graph::Graph& graph) {
  if (!wanted()) return ok();
  const graph::WeightsOut out = weights_.out();
  DLCB_TRY(text(file, graph::print(graph, &out)));
  return weights_.flush();
}

}  // namespace dlcb
