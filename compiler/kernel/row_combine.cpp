// Shuffles inside a warp, then one word a warp through shared memory.
#include "kernel/row_combine.h"

#include <fmt/format.h>

#include "kernel/ctext.h"

namespace dlcb::kernel {

namespace {

class Combine {
 public:
  Combine(Emitter& e, const ops::ScalarNode& reduce, const RowPlan& plan, const std::vector<std::string>& accs)
      : e_(e), reduce_(reduce), plan_(plan), accs_(accs), type_(register_type(reduce.dtype)) {}

  void write() {
    for (int mask : {16, 8, 4, 2, 1}) {
      const bool always = plan_.fixed || mask < plan_.min_lanes;
      if (plan_.max_lanes > mask) shuffle(mask, "", always ? "" : fmt::format("lanes > {}", mask));
    }
    if (plan_.max_lanes > 32) across_warps();
  }

 private:
  void shuffle(int mask, const std::string& indent, const std::string& condition) {
    std::string body;
    for (const std::string& acc : accs_)
      body += fmt::format("{{ const {} o = shfl_xor({}, {}); {} = {}; }} ", type_, acc, mask, acc,
                          reduce_text(reduce_.reduce, reduce_.dtype, acc, "o"));
    body.pop_back();
    if (!condition.empty()) body = fmt::format("if ({}) {{ {} }}", condition, body);
    e_.line(indent + body);
  }

  void across_warps() {
    const std::string shared = e_.fresh("s"), identity = reduce_identity(reduce_.reduce, reduce_.dtype);
    auto word = [&](size_t q, const char* lane) {
      return q == 0 ? fmt::format("{}[{}]", shared, lane) : fmt::format("{}[{} + {}]", shared, lane, 32 * q);
    };
    e_.line(fmt::format("__shared__ {} {}[{}];", type_, shared, 32 * accs_.size()));
    e_.line("if (lanes > 32) {");
    for (size_t q = 0; q < accs_.size(); q++)
      e_.line(fmt::format("  if ((lane & 31) == 0) {} = {};", word(q, "(lane >> 5)"), accs_[q]));
    e_.line("  __syncthreads();");
    for (const std::string& acc : accs_) e_.line(fmt::format("  {} = {};", acc, identity));
    for (size_t q = 0; q < accs_.size(); q++)
      e_.line(fmt::format("  if ((lane & 31) < (lanes >> 5)) {} = {};", accs_[q], word(q, "(lane & 31)")));
    for (int mask : {16, 8, 4, 2, 1}) shuffle(mask, "  ", "");
    e_.line("}");
  }

  Emitter& e_;
  const ops::ScalarNode& reduce_;
  const RowPlan& plan_;
  const std::vector<std::string>& accs_;
  const std::string_view type_;
};

}  // namespace

void combine_lanes(Emitter& e, const ops::ScalarNode& reduce, const RowPlan& plan,
                   const std::vector<std::string>& accs) {
  Combine(e, reduce, plan, accs).write();
}

}  // namespace dlcb::kernel
