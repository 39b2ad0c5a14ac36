// The building blocks of definitions and the entry point define().
#include "ops/define.h"

#include <algorithm>

#include "base/text.h"
#include "ops/expand.h"
#include "ops/notation.h"

namespace dlcb::ops {

DefineContext::DefineContext(const OpDef& op_, ScalarStore& scalars_, const sym::Facts& facts,
                             std::span<const Operand> operands_, const Attrs& attrs_)
    : op(op_), scalars(scalars_), sym(scalars_.sym()), operands(operands_), attrs(attrs_), base_facts_(&facts) {}

std::vector<OperandSpec> operand_specs(const OpDef& op) {
  std::vector<OperandSpec> out;
  if (op.operands.empty()) return out;
  for (const std::string& part : split(op.operands, ',')) {
    std::string_view name = trim(part);
    OperandSpec spec;
    if (name.ends_with("..")) {
      spec.variadic = true;
      name.remove_suffix(2);
    } else if (name.ends_with("?")) {
      spec.optional = true;
      name.remove_suffix(1);
    }
    spec.name = name;
    out.push_back(std::move(spec));
  }
  return out;
}

int DefineContext::position(std::string_view name) const {
  const auto specs = operand_specs(op);
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == name) return i < operands.size() && operands[i].value.valid() ? static_cast<int>(i) : -1;
  DLCB_CHECK(false, std::string(op.name) + " has no operand " + std::string(name));
}

Result<int> DefineContext::axis(int64_t value, int rank) const {
  if (value < -rank || value >= rank)
    return fail(DiagKind::BadAttribute,
                {"axis", "is " + std::to_string(value) + ", outside a tensor of rank " + std::to_string(rank)});
  return static_cast<int>(value < 0 ? value + rank : value);
}

Result<std::vector<int>> DefineContext::axes(std::string_view attr, int rank) const {
  std::vector<int> out;
  for (int64_t value : attrs.integers(attr)) {
    DLCB_ASSIGN(int a, axis(value, rank));
    out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    return fail(DiagKind::BadAttribute, {std::string(attr), "names an axis twice"});
  return out;
}

void DefineContext::require(sym::Expr condition, std::string why, int operand, int axis) {
  const sym::Tri known = facts().prove(condition);
  if (known == sym::Tri::Yes) return;
  definition.requirements.push_back({condition, std::move(why), operand, axis});
  if (known == sym::Tri::No) return;
  if (!own_facts_) own_facts_ = *base_facts_;
  own_facts_->assume(condition);
}

void DefineContext::require_equal(sym::Expr a, sym::Expr b, std::string why, int operand, int axis) {
  if (a != b) require(sym.eq(a, b), std::move(why), operand, axis);
}

Diagnostic DefineContext::fail(DiagKind kind, std::vector<std::string> args, int operand, int axis) const {
  Location where;
  where.op = op.name;
  if (operand >= 0) where.detail = "operand " + std::to_string(operand);
  if (axis >= 0) where.detail += ", axis " + std::to_string(axis);
  return diag(kind, std::move(args), std::move(where));
}

std::vector<sym::Expr> DefineContext::indices(std::span<const sym::Expr> dims) {
  std::vector<sym::Expr> out;
  for (size_t i = 0; i < dims.size(); ++i) out.push_back(sym.index("i" + std::to_string(i), dims[i]));
  return out;
}

void DefineContext::output(DType dtype, std::vector<sym::Expr> dims, std::vector<sym::Expr> index, Scalar body) {
  definition.outputs.push_back({dtype, std::move(dims), std::move(index), body});
}

sym::Expr DefineContext::broadcast_extent(sym::Expr a, sym::Expr b, int operand, int axis) {
  const sym::Expr one = constant(1);
  if (a == b || facts().equal(a, b) || facts().equal(b, one)) return a;
  if (facts().equal(a, one)) return b;
  const sym::Expr equal = sym.eq(a, b), a_single = sym.eq(a, one), b_single = sym.eq(b, one);
  const bool a_wide = facts().prove(a_single) == sym::Tri::No, b_wide = facts().prove(b_single) == sym::Tri::No;
  sym::Expr legal = equal;
  if (!a_wide) legal = sym.logical_or(legal, a_single);
  if (!b_wide) legal = sym.logical_or(legal, b_single);
  require(legal, "dims must be equal or 1", operand, axis);
  if (a_wide) return a;
  return b_wide ? b : sym.select(a_single, b, a);
}

sym::Expr DefineContext::broadcast_coordinate(sym::Expr i, sym::Expr dim, sym::Expr extent) const {
  const sym::Expr one = constant(1);
  if (dim == one) return constant(0);
  if (dim == extent || facts().equal(dim, extent)) return i;
  if (facts().equal(dim, one)) return constant(0);
  if (facts().prove(sym.eq(dim, one)) == sym::Tri::No) return i;
  return sym.mul(i, sym.ne(dim, one));
}

std::vector<sym::Expr> DefineContext::broadcast_dims(std::span<const int> positions) {
  int out_rank = 0;
  for (int p : positions) out_rank = std::max(out_rank, rank(p));
  std::vector<sym::Expr> out(out_rank, constant(1));
  for (int p : positions)
    for (int a = 0; a < rank(p); ++a) {
      sym::Expr& extent = out[out_rank - rank(p) + a];
      extent = broadcast_extent(extent, dims(p)[a], p, a);
    }
  return out;
}

Scalar DefineContext::load_broadcast(int position, std::span<const sym::Expr> index,
                                     std::span<const sym::Expr> extents) {
  std::vector<sym::Expr> coords;
  const size_t skip = extents.size() - dims(position).size();
  for (size_t a = 0; a < dims(position).size(); ++a)
    coords.push_back(broadcast_coordinate(index[skip + a], dims(position)[a], extents[skip + a]));
  return load(position, std::move(coords));
}

Scalar DefineContext::load(int position, std::vector<sym::Expr> coords) const {
  DLCB_CHECK(coords.size() == operands[position].dims.size(), "one coordinate per dim");
  return scalars.load(operands[position].dtype, operands[position].value, std::move(coords));
}

sym::Expr DefineContext::inside(std::span<const sym::Expr> coords, std::span<const sym::Expr> dims) const {
  sym::Expr all = constant(1);
  for (size_t a = 0; a < coords.size(); ++a) {
    const sym::Expr low = sym.le(constant(0), coords[a]), high = sym.lt(coords[a], dims[a]);
    if (!proves(low)) all = sym.logical_and(all, low);
    if (!proves(high)) all = sym.logical_and(all, high);
  }
  return all;
}

Scalar DefineContext::load_or(int position, std::vector<sym::Expr> coords, Scalar outside) const {
  const sym::Expr condition = inside(coords, dims(position));
  return scalars.select(scalars.index(DType::Bool, condition), load(position, std::move(coords)), outside);
}

sym::Expr DefineContext::gathered(Scalar integer, sym::Expr dim) {
  definition.data_indices.push_back({integer, dim});
  const sym::Expr zero = constant(0), last = sym.sub(dim, constant(1));
  const sym::Expr raw = scalars.as_coordinate(integer, {sym::kMin, sym::kMax});
  sym::Expr e = raw;
  if (!proves(sym.le(zero, raw))) e = sym.select(sym.lt(raw, zero), sym.add(raw, dim), raw);
  if (!proves(sym.le(zero, e))) e = sym.max(e, zero);
  return proves(sym.lt(raw, dim)) ? e : sym.min(e, last);
}

void DefineContext::require_gatherable(sym::Expr dim, std::span<const sym::Expr> index_dims, int operand, int axis) {
  sym::Expr some = sym.le(constant(1), dim);
  for (sym::Expr d : index_dims) some = sym.logical_or(some, sym.eq(d, constant(0)));
  require(some, "indices need a dim to index that is not empty", operand, axis);
}

namespace {

bool matches(const AttrValue& value, std::string_view type) {
  if (type == "int") return std::holds_alternative<int64_t>(value);
  if (type == "float") return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
  if (type == "string") return std::holds_alternative<std::string>(value);
  if (type == "dtype") return std::holds_alternative<DType>(value);
  if (type == "ints") return std::holds_alternative<std::vector<int64_t>>(value);
  if (type == "floats") return std::holds_alternative<std::vector<double>>(value);
  return std::holds_alternative<std::vector<sym::Expr>>(value);
}

Status check_attrs(const DefineContext& ctx) {
  for (const AttrSpec& spec : ctx.op.attrs) {
    const AttrValue* value = ctx.attrs.find(spec.name);
    std::string_view type = spec.type;
    const bool optional = type.ends_with("?");
    if (optional) type.remove_suffix(1);
    if (!value && !optional) return ctx.fail(DiagKind::BadAttribute, {std::string(spec.name), "is missing"});
    if (value && !matches(*value, type))
      return ctx.fail(DiagKind::BadAttribute, {std::string(spec.name), "is not of type " + std::string(type)});
  }
  for (const auto& [name, value] : ctx.attrs.all()) {
    const bool known =
        std::any_of(ctx.op.attrs.begin(), ctx.op.attrs.end(), [&](const AttrSpec& s) { return s.name == name; });
    if (!known) return ctx.fail(DiagKind::BadAttribute, {name, "is not an attribute of " + std::string(ctx.op.name)});
  }
  return ok();
}

Status check_operands(const DefineContext& ctx) {
  const auto specs = operand_specs(ctx.op);
  const bool variadic = !specs.empty() && specs.back().variadic;
  if ((ctx.operands.size() > specs.size() && !variadic) || (variadic && ctx.operands.size() < specs.size()))
    return ctx.fail(DiagKind::RankMismatch,
                    {std::string(ctx.op.name) + " takes operands (" + std::string(ctx.op.operands) + ") but got " +
                     std::to_string(ctx.operands.size())});
  for (size_t i = 0; i < std::max(specs.size(), ctx.operands.size()); ++i) {
    const OperandSpec& spec = specs[std::min(i, specs.size() - 1)];
    if (!spec.optional && (i >= ctx.operands.size() || !ctx.operands[i].value.valid()))
      return ctx.fail(DiagKind::RankMismatch,
                      {"operand '" + spec.name + "' of " + std::string(ctx.op.name) + " is missing"});
  }
  return ok();
}

}  // namespace

Result<Definition> define(const OpDef& op, ScalarStore& scalars, const sym::Facts& facts,
                          std::span<const Operand> operands, const Attrs& attrs) {
  DefineContext ctx(op, scalars, facts, operands, attrs);
  DLCB_TRY(check_operands(ctx));
  DLCB_TRY(check_attrs(ctx));
  if (op.kind == OpKind::Expands) return define_expansion(ctx);
  if (op.build) return op.build(ctx);
  DLCB_TRY(instantiate(ctx, op.text, attrs));
  return std::move(ctx.definition);
}

}  // namespace dlcb::ops
