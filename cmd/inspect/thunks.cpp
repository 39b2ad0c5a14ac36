// The launch order: every step with what it reads and writes, and, for given dims, the launch sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bundle_format/verify.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

// Registers as text: their value where one is known, else their name.
class Values {
 public:
  Values(const fb::Program& program, const Evaluation* at) : names_(program), at_(at) {}
  bool known(uint32_t reg) const { return at_ != nullptr && at_->known[reg]; }
  int64_t value(uint32_t reg) const { return at_->registers[reg]; }
  std::string operator()(uint32_t reg) const { return known(reg) ? fmt::format("{}", value(reg)) : names_(reg); }
  std::string list(const flatbuffers::Vector<uint32_t>* regs) const {
    std::vector<std::string> parts;
    for (uint32_t reg : *regs) parts.push_back((*this)(reg));
    return join(parts, ", ");
  }

 private:
  RegisterNames names_;
  const Evaluation* at_;
};

Json variant_json(const fb::Program& program, const Values& values, const fb::Variant& variant) {
  Json args = Json::array();
  if (variant.args() != nullptr)
    for (const fb::Arg* arg : *variant.args())
      args.push_back(arg->kind() == fb::ArgKind::BufferPtr ? buffer_text(program, arg->ref()) : values(arg->ref()));
  return {{"when", values(variant.when())},
          {"entry", text_of(program.entries()->Get(variant.entry())->name())},
          {"grid", values.list(variant.grid())},
          {"block", values.list(variant.block())},
          {"shared_bytes", values(variant.shared_bytes())},
          {"args", args}};
}

// With known dims only the variant that would be taken; else all.
Json launch_json(const fb::Program& program, const Values& values, const fb::Launch* launch) {
  Json variants = Json::array();
  if (launch == nullptr || launch->variants() == nullptr) return variants;
  for (const fb::Variant* variant : *launch->variants()) {
    bool decided = values.known(variant->when());
    if (decided && values.value(variant->when()) == 0) continue;
    variants.push_back(variant_json(program, values, *variant));
    if (decided) break;
  }
  return variants;
}

std::string activation_text(fb::Activation activation) {
  return activation == fb::Activation::None ? "" : fmt::format(", then {}", fb::EnumNameActivation(activation));
}

std::string optional_buffer(const fb::Program& program, int32_t buffer, std::string_view sign) {
  return buffer < 0 ? "" : fmt::format(" {} {}", sign, buffer_text(program, static_cast<uint32_t>(buffer)));
}

std::string matmul_text(const fb::Program& program, const Values& v, const fb::Matmul& m) {
  const std::string scale = m.alpha() == 1 ? "" : fmt::format("{} * ", m.alpha());
  return fmt::format("{} = {}{}{} x {}{}{}{}{}; batch {}, m {}, n {}, k {}, {}", buffer_text(program, m.c()), scale,
                     buffer_text(program, m.a()), m.trans_a() ? "^T" : "", buffer_text(program, m.b()),
                     m.trans_b() ? "^T" : "", optional_buffer(program, m.bias(), "+"),
                     optional_buffer(program, m.residual(), "+"), activation_text(m.activation()), v(m.batch()),
                     v(m.m()), v(m.n()), v(m.k()), dtype_text(m.dtype()));
}

std::string conv_text(const fb::Program& program, const Values& v, const fb::Conv& c) {
  auto list = [](const flatbuffers::Vector<int32_t>* items) {
    return items == nullptr ? std::string() : fmt::format("{}", fmt::join(items->begin(), items->end(), ","));
  };
  return fmt::format(
      "{} = {} * {}{}{}{}; n {}, h {}, w {}, c {}, k {}, p {}, q {}, {}x{} pad {} stride {} dilation {} "
      "groups {}{}, {}",
      buffer_text(program, c.y()), buffer_text(program, c.x()), buffer_text(program, c.w()),
      optional_buffer(program, c.bias(), "+"), optional_buffer(program, c.residual(), "+"),
      activation_text(c.activation()), v(c.n()), v(c.h()), v(c.wd()), v(c.c()), v(c.k()), v(c.p()), v(c.q()), c.r(),
      c.s(), list(c.pad()), list(c.stride()), list(c.dilation()), c.groups(), c.transposed() ? " transposed" : "",
      dtype_text(c.dtype()));
}

Json step_json(const fb::Program& program, const Values& values, const fb::Step& step) {
  Json json;
  uint32_t region = UINT32_MAX;
  if (const fb::Launch* launch = step.action_as_Launch()) {
    region = launch->region();
    json = {{"kind", "launch"}, {"text", ""}, {"variants", launch_json(program, values, launch)}};
  } else if (const fb::Matmul* matmul = step.action_as_Matmul()) {
    region = matmul->region();
    json = {{"kind", "matmul"}, {"text", matmul_text(program, values, *matmul)}};
  } else if (const fb::Conv* conv = step.action_as_Conv()) {
    region = conv->region();
    json = {{"kind", "conv"}, {"text", conv_text(program, values, *conv)}};
  } else if (const fb::Read* read = step.action_as_Read()) {
    json = {{"kind", "read"},
            {"text", fmt::format("r{} = {}[{}], then segment {}", read->dst(), buffer_text(program, read->buffer()),
                                 read->index(), read->next_segment())}};
  } else if (const fb::Copy* copy = step.action_as_Copy()) {
    json = {{"kind", "copy"},
            {"text", fmt::format("{} = {}, {} bytes", buffer_text(program, copy->to()),
                                 buffer_text(program, copy->from()), values(copy->bytes()))}};
  }
  if (step.fallback() != nullptr) json["fallback"] = launch_json(program, values, step.fallback());
  if (step.predicate() >= 0) json["predicate"] = values(static_cast<uint32_t>(step.predicate()));
  if (region != UINT32_MAX) {
    json["region"] = region_text(program, region);
    if (program.regions() != nullptr && region < program.regions()->size())
      json["operators"] = origins_text(program.regions()->Get(region)->origins());
  }
  return json;
}

std::string variants_text(const Json& variants, std::string_view label) {
  std::string text;
  for (const Json& variant : variants) {
    std::vector<std::string> args;
    for (const Json& arg : variant["args"]) args.push_back(arg.get<std::string>());
    std::string when = variant["when"].get<std::string>();
    text += fmt::format("      {}{} <<<({}), ({}), {}>>>({}){}\n", label, variant["entry"].get<std::string>(),
                        variant["grid"].get<std::string>(), variant["block"].get<std::string>(),
                        variant["shared_bytes"].get<std::string>(), join(args, ", "),
                        when == "true" || when == "1" ? "" : " when " + when);
  }
  return text;
}

}  // namespace

Json thunks_view(const bundle::Bundle& bundle, const Evaluation* at) {
  const fb::Program& program = bundle.program();
  Values values(program, at);
  Json steps = Json::array();
  for (uint32_t i = 0; i < bundle::size_or_zero(program.steps()); ++i) {
    Json step = {{"step", i}};
    step.update(step_json(program, values, *program.steps()->Get(i)));
    steps.push_back(std::move(step));
  }
  return {{"steps", steps}};
}

std::string thunks_text(const Json& view) {
  std::string text;
  for (const Json& step : view["steps"]) {
    std::string body = step["text"].get<std::string>(), region = step.value("region", "");
    text += fmt::format("{:>4}  {:6} {}", step["step"].get<uint32_t>(), step["kind"].get<std::string>(), region);
    if (std::string operators = step.value("operators", ""); !operators.empty()) text += ": " + operators;
    if (step.contains("predicate")) text += "  if " + step["predicate"].get<std::string>();
    text.resize(text.find_last_not_of(' ') + 1);  // a step without a region leaves blanks
    text += "\n";
    if (!body.empty()) text += "      " + body + "\n";
    if (step.contains("variants")) text += variants_text(step["variants"], "");
    if (step.contains("fallback")) text += variants_text(step["fallback"], "or ");
  }
  return text;
}

}  // namespace dlcb::cmd
