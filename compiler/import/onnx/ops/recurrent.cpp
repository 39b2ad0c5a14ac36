// RNN, GRU and LSTM over a literal number of steps: the steps are written out, with the input's part of all steps in
// one matrix product. Activations, directions and layouts are ONNX's; a sequence of unknown length needs a loop and is
// refused.
#include <fmt/format.h>

#include <algorithm>

#include "import/onnx/node_context.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

constexpr int64_t kMaxSteps = 256;

// An activation with its parameters.
struct Activation {
  std::string name;  // lower case
  double alpha = 0, beta = 0;
};

struct ActivationKind {
  std::string_view name;
  std::optional<double> alpha, beta;  // what the activation takes, with the value when the model gives none
};
constexpr ActivationKind kActivations[] = {
    {"affine", 1, 0},     {"elu", 1, {}},       {"hardsigmoid", 0.2f, 0.5}, {"leakyrelu", 0.01f, {}},
    {"relu", {}, {}},     {"scaledtanh", 1, 1}, {"sigmoid", {}, {}},        {"softplus", {}, {}},
    {"softsign", {}, {}}, {"tanh", {}, {}},     {"thresholdedrelu", 1, {}},
};

// What the steps of one direction need.
struct Direction {
  ValueId input_part;      // [T, B, gates * H]: x W^T plus the input bias
  ValueId recurrent;       // R^T: [H, gates * H]
  ValueId recurrent_bias;  // [gates * H], or invalid
  ValueId peepholes;       // [3 H] (LSTM), or invalid
  std::vector<Activation> activations;
  bool backward;
};

ValueId activate(NodeContext& n, const Direction& d, size_t which, ValueId x) {
  const Activation& f = d.activations.at(which);
  if (f.name == "affine") return n.add(n.mul(x, f.alpha), f.beta);
  if (f.name == "scaledtanh") return n.mul(n.unary("tanh", n.mul(x, f.beta)), f.alpha);
  if (f.name == "leakyrelu") return n.op("leaky_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "thresholdedrelu") return n.op("thresholded_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "hardsigmoid") return n.op("hard_sigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
  if (f.name == "elu") return n.op("elu", {x}, {{"alpha", f.alpha}});
  return n.unary(f.name, x);
}

class Recurrent {
 public:
  Recurrent(NodeContext& n, int64_t gates, std::vector<std::string> activations) : n_(n), gates_(gates) {
    const std::string direction = n.text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      n.bad_attribute("direction", fmt::format("is '{}'", direction));
    both_ = direction == "bidirectional";
    reverse_ = direction == "reverse";
    choose_activations(activations);
    batch_first_ = n.integer("layout", 0) != 0;
    x_ = batch_first_ ? n.transpose(n.in(0), {1, 0, 2}) : n.in(0);
    if (n.rank(x_) != 3 || n.rank(n.in(2)) != 3) n.malformed("recurrent operators need operands of rank 3");
    const auto steps = n.literal(n.dim(x_, 0)), hidden = n.literal(n.dim(n.in(2), 2));
    if (!steps) n.unsupported("the sequence's length is not a constant");
    if (!hidden) n.unsupported("the hidden size is not a constant");
    if (*steps < 1 || *steps > kMaxSteps) n.unsupported(fmt::format("a sequence of {} steps", *steps));
    steps_ = *steps, hidden_ = *hidden;
    check_lengths();
    if (n.has_attr("clip")) clip_ = n.real("clip", 0);
  }

  int64_t directions() const { return both_ ? 2 : 1; }

  Direction direction(int64_t d) {
    Direction out;
    const auto part = [&](int input) { return row(n_.in(input), d); };
    const ValueId w = n_.transpose(part(1), {1, 0});
    out.recurrent = n_.transpose(part(2), {1, 0});
    out.input_part = n_.matmul(x_, w);
    if (n_.has(3)) {
      const ValueId bias = part(3);
      out.input_part = n_.add(out.input_part, n_.slice(bias, 0, n_.lit(0), n_.lit(gates_ * hidden_)));
      out.recurrent_bias = n_.slice(bias, 0, n_.lit(gates_ * hidden_), n_.lit(gates_ * hidden_));
    }
    if (n_.has(7)) out.peepholes = part(7);
    const auto first = activations_.begin() + d * static_cast<int64_t>(activations_.size()) / directions();
    out.activations.assign(first, first + static_cast<int64_t>(activations_.size()) / directions());
    out.backward = reverse_ || d == 1;
    return out;
  }

  // The initial state of a direction, [B, H]; zeros when the model gives none.
  ValueId initial(int input, int64_t d) {
    if (!n_.has(input)) return n_.filled(n_.dtype(x_), 0, {n_.dim(x_, 1), n_.lit(hidden_)});
    return row(batch_first_ ? n_.transpose(n_.in(input), {1, 0, 2}) : n_.in(input), d);
  }

  // Gate `g` of a [B, gates * H] tensor.
  ValueId gate(ValueId x, int64_t g, int64_t count = 1) {
    return n_.slice(x, n_.rank(x) - 1, n_.lit(g * hidden_), n_.lit(count * hidden_));
  }
  ValueId clipped(ValueId x) { return clip_ > 0 ? n_.op("clip", {x}, {{"min", -clip_}, {"max", clip_}}) : x; }

  // Runs `step(input_part_of_step) -> hidden state` in the direction's order and keeps the states in time order.
  template <class Step>
  void run(const Direction& d, Step step) {
    std::vector<ValueId> states(static_cast<size_t>(steps_));
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = d.backward ? steps_ - 1 - i : i;
      states[static_cast<size_t>(t)] =
          n_.unsqueeze(step(n_.squeeze(n_.slice(d.input_part, 0, n_.lit(t), n_.lit(1)), {0})), {0});
    }
    sequences_.push_back(n_.unsqueeze(n_.concat(states, 0), {1}));
  }
  void finish(const std::vector<std::vector<ValueId>>& last) {
    ValueId y = n_.concat(sequences_, 1);
    n_.out(0, batch_first_ ? n_.transpose(y, {2, 0, 1, 3}) : y);
    for (size_t i = 0; i < last.size(); ++i) {
      std::vector<ValueId> rows;
      for (const ValueId v : last[i]) rows.push_back(n_.unsqueeze(v, {0}));
      const ValueId state = n_.concat(rows, 0);
      n_.out(static_cast<int>(i) + 1, batch_first_ ? n_.transpose(state, {1, 0, 2}) : state);
    }
  }

 private:
  ValueId row(ValueId x, int64_t d) { return n_.squeeze(n_.slice(x, 0, n_.lit(d), n_.lit(1)), {0}); }

  // Those of all directions in turn. The values of activation_alpha are for the activations that take an alpha, in
  // order; likewise beta.
  void choose_activations(const std::vector<std::string>& defaults) {
    std::vector<std::string> names;
    for (int64_t d = 0; d < directions(); ++d) names.insert(names.end(), defaults.begin(), defaults.end());
    if (const auto* a = n_.attribute("activations"); a && a->strings_size() > 0) {
      if (static_cast<size_t>(a->strings_size()) != names.size())
        n_.bad_attribute("activations", "has another number of entries than needed");
      names.assign(a->strings().begin(), a->strings().end());
    }
    const std::vector<double> alphas = n_.reals("activation_alpha"), betas = n_.reals("activation_beta");
    size_t next_alpha = 0, next_beta = 0;
    const auto take = [](const std::vector<double>& given, size_t& next, std::optional<double> fallback) {
      if (!fallback) return 0.0;
      return next < given.size() ? given[next++] : *fallback;
    };
    for (const std::string& given : names) {
      std::string name = given;
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      const auto* kind = std::find_if(std::begin(kActivations), std::end(kActivations),
                                      [&](const ActivationKind& k) { return k.name == name; });
      if (kind == std::end(kActivations)) n_.unsupported(fmt::format("activation '{}'", given));
      const double alpha = take(alphas, next_alpha, kind->alpha);
      activations_.push_back({name, alpha, take(betas, next_beta, kind->beta)});
    }
  }

  // Lengths are accepted when they say that every sequence is whole.
  void check_lengths() {
    if (!n_.has(4)) return;
    const auto lengths = n_.constant_reals(n_.in(4));
    if (!lengths ||
        std::any_of(lengths->begin(), lengths->end(), [&](double l) { return l != static_cast<double>(steps_); }))
      n_.unsupported("sequence_lens that differ from the sequence's length");
  }

  NodeContext& n_;
  int64_t gates_;
  std::vector<Activation> activations_;
  bool both_ = false, reverse_ = false, batch_first_ = false;
  ValueId x_;
  int64_t steps_ = 0, hidden_ = 0;
  double clip_ = 0;
  std::vector<ValueId> sequences_;
};

ValueId plus(NodeContext& n, ValueId a, ValueId b) { return b.valid() ? n.add(a, b) : a; }

}  // namespace

// h = f(x W + h R + b)
void rnn(NodeContext& n) {
  Recurrent r(n, 1, {"Tanh"});
  std::vector<std::vector<ValueId>> last(1);
  for (int64_t i = 0; i < r.directions(); ++i) {
    const Direction d = r.direction(i);
    ValueId h = r.initial(5, i);
    r.run(d, [&](ValueId x) {
      return h = activate(n, d, 0, r.clipped(n.add(x, plus(n, n.matmul(h, d.recurrent), d.recurrent_bias))));
    });
    last[0].push_back(h);
  }
  r.finish(last);
}

// Gates z (update), r (reset), h: h' = (1 - z) h~ + z h.
void gru(NodeContext& n) {
  const bool reset_after = n.integer("linear_before_reset", 0) != 0;
  Recurrent r(n, 3, {"Sigmoid", "Tanh"});
  std::vector<std::vector<ValueId>> last(1);
  for (int64_t i = 0; i < r.directions(); ++i) {
    const Direction d = r.direction(i);
    ValueId h = r.initial(5, i);
    const auto bias = [&](int64_t g, int64_t count) {
      return d.recurrent_bias.valid() ? r.gate(d.recurrent_bias, g, count) : ValueId{};
    };
    r.run(d, [&](ValueId x) {
      const ValueId both = n.add(r.gate(x, 0, 2), plus(n, n.matmul(h, r.gate(d.recurrent, 0, 2)), bias(0, 2)));
      const ValueId open = activate(n, d, 0, r.clipped(both)), z = r.gate(open, 0), reset = r.gate(open, 1),
                    rh = r.gate(d.recurrent, 2);
      const ValueId recurrent = reset_after ? n.mul(reset, plus(n, n.matmul(h, rh), bias(2, 1)))
                                            : plus(n, n.matmul(n.mul(reset, h), rh), bias(2, 1));
      const ValueId candidate = activate(n, d, 1, r.clipped(n.add(r.gate(x, 2), recurrent)));
      return h = n.add(n.mul(n.sub(n.scalar(n.dtype(z), 1), z), candidate), n.mul(z, h));
    });
    last[0].push_back(h);
  }
  r.finish(last);
}

// Gates i, o, f, c: c' = f c + i g, h' = o act(c'); peepholes let the gates see the cell.
void lstm(NodeContext& n) {
  const bool coupled = n.integer("input_forget", 0) != 0;
  Recurrent r(n, 4, {"Sigmoid", "Tanh", "Tanh"});
  std::vector<std::vector<ValueId>> last(2);
  for (int64_t i = 0; i < r.directions(); ++i) {
    const Direction d = r.direction(i);
    ValueId h = r.initial(5, i), c = r.initial(6, i);
    r.run(d, [&](ValueId x) {
      const ValueId all = n.add(x, plus(n, n.matmul(h, d.recurrent), d.recurrent_bias));
      const auto seeing = [&](ValueId gate, int64_t g, ValueId cell) {
        return d.peepholes.valid() ? n.add(gate, n.mul(cell, r.gate(d.peepholes, g))) : gate;
      };
      const ValueId input = activate(n, d, 0, r.clipped(seeing(r.gate(all, 0), 0, c)));
      const ValueId forget = coupled ? n.sub(n.scalar(n.dtype(input), 1), input)
                                     : activate(n, d, 0, r.clipped(seeing(r.gate(all, 2), 2, c)));
      const ValueId candidate = activate(n, d, 1, r.clipped(r.gate(all, 3)));
      c = n.add(n.mul(forget, c), n.mul(input, candidate));
      const ValueId output = activate(n, d, 0, r.clipped(seeing(r.gate(all, 1), 1, c)));
      return h = n.mul(output, activate(n, d, 2, c));
    });
    last[0].push_back(h);
    last[1].push_back(c);
  }
  r.finish(last);
}

}  // namespace dlcb::importer::onnx
