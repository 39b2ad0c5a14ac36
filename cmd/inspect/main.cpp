// dlcb-inspect: says what a bundle takes, checks, holds and does.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cmd/common/bundle_error.h"
#include "cmd/common/program.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

struct Flags {
  std::string path, source;
  std::optional<std::string> bindings;  // of --eval, which may be empty
  bool dims = false, guards = false, kernels = false, host = false, thunks = false, memory = false, manifest = false;
  bool json = false;
};

// The views asked for, in the order of --help; the summary if none is.
Json chosen_views(const bundle::Bundle& bundle, const Flags& flags, const Json& source, const Evaluation* at,
                  std::string& text) {
  Json all = Json::object();
  auto add = [&](bool wanted, const char* name, auto make, auto render) {
    if (!wanted) return;
    all[name] = make();
    if (!text.empty()) text += "\n";
    text += render(all[name]);
  };
  add(
      flags.dims, "dims", [&] { return dims_view(bundle); }, dims_text);
  add(
      flags.guards, "guards", [&] { return guards_view(bundle); }, guards_text);
  add(
      flags.kernels, "kernels", [&] { return kernels_view(bundle); }, kernels_text);
  add(
      flags.host, "host", [&] { return host_view(bundle); }, host_text);
  add(
      flags.thunks, "thunks", [&] { return thunks_view(bundle, at); }, thunks_text);
  add(
      flags.memory, "memory", [&] { return memory_view(bundle, at); }, memory_text);
  add(
      !source.is_null(), "source", [&] { return source; }, source_text);
  add(
      at != nullptr && all.empty(), "eval", [&] { return evaluation_view(bundle, *at); }, evaluation_text);
  add(
      all.empty(), "summary", [&] { return summary_view(bundle, flags.path); }, summary_text);
  return all.size() == 1 ? all.front() : all;
}

ExitCode run(Flags& flags, const Reporter& reporter) {
  if (flags.path.empty()) return reporter.error(usage("no bundle given; try dlcb-inspect --help"));
  if (flags.manifest) {
    std::string text;
    int version = 0;
    if (bundle::Error error = bundle::read_manifest(flags.path, &text, &version))
      return reporter.error(bundle_refused(flags.path, error));
    print(text);
    return ExitCode::Ok;
  }
  std::shared_ptr<bundle::Bundle> opened;
  if (bundle::Error error = bundle::Bundle::open(flags.path, &opened))
    return reporter.error(bundle_refused(flags.path, error));
  Json source;
  if (!flags.source.empty()) {
    auto found = source_view(*opened, flags.source);
    if (!found) return reporter.error(found.error());
    source = *std::move(found);
  }
  std::optional<Evaluation> at;
  if (flags.bindings) {
    auto evaluation = evaluate(opened->program(), *flags.bindings);
    if (!evaluation) return reporter.error(evaluation.error());
    at = *std::move(evaluation);
  }
  std::string text;
  Json json = chosen_views(*opened, flags, source, at ? &*at : nullptr, text);
  print(flags.json ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
  return at && at->failed ? ExitCode::RefusedInput : ExitCode::Ok;
}

void define(CLI::App& app, Flags& flags) {
  app.add_option("BUNDLE", flags.path, "the .dlcb file");
  CLI::Option* const views[] = {
      app.add_flag("--dims", flags.dims, "every named dim and where it comes from"),
      app.add_flag("--guards", flags.guards, "what is checked, why, and which operators need it"),
      app.add_flag("--kernels", flags.kernels,
                   "registers, shared memory, stack, instructions and calls of each kernel"),
      app.add_flag("--host", flags.host, "the host program"),
      app.add_flag("--thunks", flags.thunks, "the launch order"),
      app.add_flag("--memory", flags.memory, "buffers and their lives"),
      app.add_option("--eval", flags.bindings, "NAME=VALUE,...: values of the dims; alone it shows what would run"),
      app.add_option("--source", flags.source, "the CUDA C++ source that holds this kernel")};
  auto* manifest =
      app.add_flag("--manifest", flags.manifest, "print the manifest (JSON) as stored, of any format version");
  for (CLI::Option* view : views) manifest->excludes(view);
  app.add_flag("--json", flags.json, "print the same as JSON");
}

const ProgramInfo kInfo = {
    "dlcb-inspect", "Shows what a .dlcb bundle takes, checks, holds and does. Needs no GPU and no CUDA library.",
    "  dlcb-inspect model.dlcb                          # inputs, outputs, sizes\n"
    "  dlcb-inspect model.dlcb --guards                 # what is checked before anything runs\n"
    "  dlcb-inspect model.dlcb --eval N=4,H=32,W=320    # resolved shapes, launch sizes, bytes, which guard fails\n"
    "  dlcb-inspect model.dlcb --memory --eval N=4      # the arena for given dims\n"
    "  dlcb-inspect model.dlcb --kernels --json\n"
    "Exit codes: 0 done, 2 usage or files, 3 bundle refused, 4 --eval dims refused, 70 a fault (docs/errors.md)\n"};

}  // namespace
}  // namespace dlcb::cmd

int main(int argc, char** argv) {
  using namespace dlcb::cmd;
  return run_program(kInfo, argc, argv, define, run);
}
