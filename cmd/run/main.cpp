// dlcb-run: runs a bundle on a GPU or in the simulator, checks and measures it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cmd/common/program.h"
#include "cmd/run/bench.h"
#include "cmd/run/expect.h"
#include "cmd/run/inputs.h"
#include "cmd/run/outputs.h"
#include "cmd/run/session.h"

namespace dlcb::cmd {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string path, test_data, output_folder, output_format = "npy";
  std::vector<std::string> inputs, expected;
  SessionOptions session;
  Tolerance tolerance;
  int bench = 0, warm_up = 10;
  bool json = false, quiet = false;
};

Json outputs_json(const Flags& flags, const std::vector<Port>& ports, const std::vector<Tensor>& outputs,
                  const ExpectResult& checked) {
  Json list = Json::array();
  std::vector<std::string> files = output_files(ports, flags.output_format);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json item = {{"name", ports[i].name}, {"dtype", name_of(outputs[i].dtype)}, {"shape", outputs[i].dims}};
    item["preview"] = preview(outputs[i]);
    if (!flags.output_folder.empty()) item["file"] = flags.output_folder + "/" + files[i];
    if (const auto& comparison = checked.comparisons[i]) {
      // JSON has no infinity: null says that the norm is not a number that could be compared.
      Json norm = std::isfinite(comparison->rel_norm) ? Json(comparison->rel_norm) : Json();
      item["expected"] = {{"equal", comparison->equal},
                          {"rel_norm", norm},
                          {"max_abs", comparison->max_abs},
                          {"outside", comparison->outside}};
    }
    list.push_back(std::move(item));
  }
  return list;
}

std::string report_text(const Json& report) {
  std::string text = "device   " + report["device"].get<std::string>() + "\n";
  for (const Json& output : report["outputs"]) {
    text +=
        fmt::format("output   {}: {}[{}] = {}\n", output["name"].get<std::string>(), output["dtype"].get<std::string>(),
                    fmt::join(output["shape"].get<std::vector<int64_t>>(), ", "), output["preview"].get<std::string>());
    if (output.contains("file")) text += "         in " + output["file"].get<std::string>() + "\n";
    if (!output.contains("expected")) continue;
    const Json& expected = output["expected"];
    std::string norm =
        expected["rel_norm"].is_null() ? "inf" : fmt::format("{:.3g}", expected["rel_norm"].get<double>());
    text += fmt::format("         {} the expected values (relative norm {}, largest difference {:.3g})\n",
                        expected["equal"].get<bool>() ? "agrees with" : "DIFFERS FROM", norm,
                        expected["max_abs"].get<double>());
  }
  if (report.contains("bench")) text += bench_text(report["bench"]);
  return text;
}

// With a bound that is not a finite number every comparison, or none, would hold.
Status check_tolerance(const Tolerance& tolerance) {
  const std::pair<const char*, double> bounds[] = {
      {"--rtol", tolerance.rtol}, {"--atol", tolerance.atol}, {"--rel-norm", tolerance.rel_norm.value_or(0)}};
  for (const auto& [flag, bound] : bounds) {
    if (!std::isfinite(bound) || bound < 0)
      return usage(std::string(flag) + " takes a finite number that is not negative");
  }
  return ok();
}

// A flag that says nothing to the simulator; empty if there is none. It computes in full precision, as --tf32 off asks.
std::string idle_flag(const SessionOptions& o) {
  if (o.device_index) return "--device-index";
  return o.tf32 == "on" ? "--tf32 on" : "";
}

Status check_flags(const Flags& flags) {
  if (flags.path.empty()) return usage("no bundle given; try dlcb-run --help");
  DLCB_TRY(check_tolerance(flags.tolerance));
  const std::string idle = flags.session.device == "sim" ? idle_flag(flags.session) : "";
  return idle.empty() ? ok() : usage(idle + " does nothing with --device sim");
}

ExitCode run(Flags& flags, const Reporter& reporter) {
  if (auto sound = check_flags(flags); !sound) return reporter.error(sound.error());
  std::string note;
  auto session = Session::open(flags.path, flags.session, &note);
  if (!session) return reporter.error(session.error());
  if (!note.empty() && !flags.quiet) reporter.note(note);
  if (const std::string idle = idle_flag(flags.session); !note.empty() && !idle.empty())
    reporter.warning(idle + " does nothing in the simulator");
  const std::vector<Port>& ports = (*session)->outputs();

  if (flags.inputs.size() < (*session)->inputs().size() && flags.test_data.empty()) (*session)->find_examples();
  auto inputs = gather_inputs((*session)->inputs(), flags.inputs, flags.test_data);
  if (!inputs) return reporter.error(inputs.error());
  auto expected = gather_expected(ports, flags.expected, flags.test_data);
  if (!expected) return reporter.error(expected.error());
  auto outputs = (*session)->run(*inputs);
  if (!outputs) return reporter.error(outputs.error());
  if (!flags.output_folder.empty()) {
    auto written = write_outputs(flags.output_folder, flags.output_format, ports, *outputs);
    if (!written) return reporter.error(written.error());
  }
  ExpectResult checked = check_expected(ports, *outputs, *expected, flags.tolerance, reporter);
  Json report = {{"device", (*session)->device()}, {"outputs", outputs_json(flags, ports, *outputs, checked)}};
  if (flags.bench > 0) {
    auto timing = (*session)->bench(*inputs, flags.warm_up, flags.bench);
    if (!timing) return reporter.error(timing.error());
    report["bench"] = bench_json(*timing, (*session)->load_seconds());
  }
  std::string text = flags.json    ? report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                     : flags.quiet ? ""
                                   : report_text(report);
  print(text);
  return checked.all_equal ? ExitCode::Ok : ExitCode::WrongResult;
}

void define(CLI::App& app, Flags& flags) {
  app.add_option("BUNDLE", flags.path, "the .dlcb file");
  add_repeated(
      app, "--input", flags.inputs,
      "NAME=VALUE: @FILE.npy, @FILE.pb (an ONNX TensorProto), a literal (3, [[1,2],[3,4]]), zeros[2,3], ones[2,3], "
      "random[2,3], random[2,3]:SEED or random[2,3]:SEED:LO..HI; may be repeated");
  app.add_option("--test-data", flags.test_data, "folder of input_K.pb and output_K.pb files, as in ONNX's test suite");
  add_repeated(app, "--expect", flags.expected, "NAME=@FILE or NAME=VALUE: what the output must be; may be repeated");
  app.add_option("--rtol", flags.tolerance.rtol, "relative tolerance of each element")->capture_default_str();
  app.add_option("--atol", flags.tolerance.atol, "absolute tolerance of each element")->capture_default_str();
  app.add_option("--rel-norm", flags.tolerance.rel_norm, "compare by the relative L2 norm of the difference instead");
  auto* output = app.add_option("--output", flags.output_folder, "write every output into this folder");
  app.add_option("--output-format", flags.output_format, "npy or pb")
      ->needs(output)
      ->check(CLI::IsMember({"npy", "pb"}))
      ->capture_default_str();
  app.add_option("--device", flags.session.device, "cuda, sim, or auto: cuda where it can be used, else sim")
      ->check(CLI::IsMember({"cuda", "sim", "auto"}))
      ->capture_default_str();
  app.add_option("--device-index", flags.session.device_index, "which GPU")->check(CLI::NonNegativeNumber);
  app.add_option("--tf32", flags.session.tf32, "on, off, or as compiled")
      ->check(CLI::IsMember({"on", "off", "compiled"}));
  app.add_flag("--no-libraries", flags.session.no_libraries,
               "run generated kernels in place of cuBLASLt and cuDNN (needs dlcbc --stand-ins)");
  app.add_option("--sim-cache-dir", flags.session.sim_cache_dir, "where the simulator keeps compiled kernels");
  auto* bench = app.add_option("--bench", flags.bench, "also time this many calls")->check(CLI::Range(1, 100000000));
  app.add_option("--warm-up", flags.warm_up, "calls before timing")
      ->needs(bench)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.add_flag("-q,--quiet", flags.quiet, "print nothing but errors");
}

const ProgramInfo kInfo = {
    "dlcb-run", "Runs a .dlcb bundle on a GPU, or in the simulator where there is none.",
    "  dlcb-run model.dlcb --input x=@x.npy                          # print the outputs' first values\n"
    "  dlcb-run model.dlcb --input 'x=random[2,3,64,64]' --output out\n"
    "  dlcb-run model.dlcb --test-data test_data_set_0 --rel-norm 1e-3\n"
    "  dlcb-run model.dlcb --device cuda --input 'x=random[8,3,224,224]' --bench 100 --json\n"
    "Exit codes: 0 done, 2 usage or files, 3 bundle refused, 4 input refused, 5 wrong result, 6 environment, 70 a "
    "fault "
    "(docs/errors.md)\n"};

}  // namespace
}  // namespace dlcb::cmd

int main(int argc, char** argv) {
  using namespace dlcb::cmd;
  return run_program(kInfo, argc, argv, define, run);
}
