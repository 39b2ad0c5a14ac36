// The normal forms that later stages rely on, as a table of texts, and the Store's interface.
#include "sym/expr.h"

#include "catch.h"

using namespace dlcb;
using namespace dlcb::sym;

namespace {

Expr read(Store& s, std::string_view text) {
  Result<Expr> e = parse(s, text, true);
  INFO(text);
  REQUIRE(bool(e));
  return *e;
}

constexpr struct {
  const char *written, *canonical;
} kRows[] = {
    // sums and products
    {"W + H + 2 + W", "H + 2*W + 2"},
    {"(N + 1)*(M + 2)", "M*N + M + 2*N + 2"},
    {"2*(H - 3) - H", "H - 6"},
    {"N - N", "0"},
    // conv and pool sizes
    {"((H - 1)//2 + 1 - 1)//2 + 1", "(H + 3)//4"},
    {"((((H - 1)//2)//2 + 1 - 1)//2)//2 + 1", "(H + 15)//16"},
    {"(((((H-1)//2 + 1 - 1)//2 + 1 - 1)//2 + 1 - 1)//2 + 1 - 1)//2 + 1", "(H + 31)//32"},
    {"-((-H)//4)", "(H + 3)//4"},
    // division and modulus by constants
    {"(4*a + b)//4", "a + b//4"},
    {"(4*a + b) % 4", "b % 4"},
    {"(2*x + 2*y + 1)//2", "x + y"},
    {"(6*x + 3)//4", "x + (x + 1)//2"},
    {"(x//2)//3", "x//6"},
    {"(x//2 + c)//2", "(2*c + x)//4"},
    {"(x % 12) % 4", "x % 4"},
    {"(x % 12)//4", "(x//4) % 3"},
    {"(8*x + 4) % 12", "4*((-x + 1) % 3)"},
    {"(x//4)*4 + x % 4", "x"},
    {"N*S*12*32//(12*32)", "N*S"},
    {"x//0", "0"},
    {"x % 0", "0"},
    {"x//-2", "-((x + 1)//2)"},
    // division by dims
    {"N*197*768//(N*768)", "select(N == 0, 0, 197)"},
    {"(x//A)//B", "x//(A*B)"},
    {"(x*N + y) % N", "y % N"},
    {"(H - 2)*(W - 2)*N//(W - 2)", "select(W == 2, 0, H*N - 2*N)"},
    // min, max, select, comparisons
    {"min(H, H + 1)", "H"},
    {"max(H, 0)", "H"},
    {"max(min(H, 7), 3, min(H, 7))", "max(3, min(7, H))"},
    {"select(H == 3, 3, H)", "H"},
    {"select(H <= W, H, W)", "min(H, W)"},
    {"select(not p == 0, a, b)", "select(p == 0, b, a)"},
    {"H + 3 == 0", "0"},
    {"2*N + 1 == 2*M", "0"},
    {"4*N == 2*M + 6", "M + 3 == 2*N"},
    {"2*H <= 7", "H <= 3"},
    {"H - W < 0", "H < W"},
    {"not H <= W", "W < H"},
    {"a == 1 and a == 1", "a == 1"},
    {"a == 1 or not a == 1", "1"},
    {"(32*N) % 8 == 0", "1"},
    // scales
    {"floor_scale(H, 0.5)", "H//2"},
    {"ceil_scale(H, 0.5)", "(H + 1)//2"},
    {"floor_scale(H, 2.0)", "2*H"},
    {"floor_scale(H, 1.5)", "H + H//2"},
    {"floor_scale(H, 0.7)", "floor_scale(H, 0.7)"},
};

}  // namespace

TEST_CASE("canonical forms") {
  Store s;
  for (auto [written, canonical] : kRows) {
    INFO(written);
    CHECK(print(s, read(s, written)) == canonical);
    CHECK(read(s, written) == read(s, canonical));
  }
}

TEST_CASE("row-major coordinates over dims come apart") {
  Store s;
  Expr h = s.symbol("H", SymbolKind::Dim), w = s.symbol("W", SymbolKind::Dim), c = s.symbol("C", SymbolKind::Dim);
  Expr i = s.index("i", h), j = s.index("j", w), k = s.index("k", c);
  Expr flat = s.add(s.mul(i, w), j), deep = s.add(s.mul(flat, c), k);
  CHECK(s.floordiv(flat, w) == i);
  CHECK(s.mod(flat, w) == j);
  CHECK(s.is_const(s.lt(flat, s.mul(h, w)), 1));
  CHECK(s.floordiv(deep, c) == flat);
  CHECK(s.mod(deep, c) == k);
  CHECK(s.floordiv(deep, s.mul(w, c)) == i);
  CHECK(s.mod(deep, s.mul(w, c)) == s.add(s.mul(j, c), k));
  CHECK(s.is_const(s.lt(deep, s.mul(s.mul(h, w), c)), 1));
  const Expr four = s.constant(4), group = s.mul(four, s.mul(w, c));  // four rows at a time
  CHECK(s.floordiv(deep, group) == s.floordiv(i, four));
  CHECK(s.mod(deep, group) == s.add(s.mul(s.mod(i, four), s.mul(w, c)), s.add(s.mul(j, c), k)));
  const Expr again = s.add(s.mul(s.floordiv(deep, group), group), s.mod(deep, group));
  CHECK(s.floordiv(again, s.mul(w, c)) == i);
  CHECK(s.is_const(s.floordiv(j, w), 0));
  CHECK(s.is_const(s.le(s.constant(0), deep), 1));
}

TEST_CASE("overflow keeps the expression as written and evaluates to nothing") {
  Store s;
  Expr big = s.constant(kMax), n = s.symbol("N", SymbolKind::Dim);
  auto none = [](Expr) -> std::optional<int64_t> { return 3; };
  for (Expr e : {s.add(big, big), s.mul(big, s.constant(2)), s.mul(s.mul(n, big), s.constant(5)),
                 s.neg(s.constant(kMin)), s.floordiv(s.constant(kMin), s.constant(-1)), s.add(s.mul(n, big), big)}) {
    INFO(print(s, e));
    CHECK_FALSE(s.as_const(e).has_value());
    CHECK_FALSE(s.evaluate(e, none).has_value());
    CHECK(*parse(s, print(s, e), false) == e);
  }
  Expr sum = s.add(s.add(big, big), n);
  CHECK(s.bounds(sum).hi == kMax);
  CHECK(s.is_const(s.le(sum, n), 0));  // over the integers
}

TEST_CASE("long parts that occur again are named") {
  Store s;
  Expr part = read(s, "max(0, min(length, 512) - 3*(stride_of_rows + 1)//stride)");
  Expr whole = s.mul(part, s.floordiv(part, s.symbol("M", SymbolKind::Dim)));
  const std::string text = print(s, whole);
  CHECK(text == "($1//M)*$1 where $1 = max(0, -((3*stride_of_rows + 3)//stride) + min(512, length))");
  CHECK(*parse(s, text, false) == whole);
  CHECK(print(s, part) == "max(0, -((3*stride_of_rows + 3)//stride) + min(512, length))");
  CHECK(*parse(s, "$b + 1 where $b = $a*N; $a = 2*M", true) == read(s, "2*M*N + 1"));
  CHECK(*parse(s, "$a + `x where y; z`where $a = `x where y; z`", true) == read(s, "2*`x where y; z`"));
  CHECK(print(s, s.symbol("where", SymbolKind::Dim)) == "`where`");
}

TEST_CASE("an outline is short, whatever the expression's size as a tree") {
  Store s;
  Expr n = s.symbol("N", SymbolKind::Dim), m = s.symbol("M", SymbolKind::Dim);
  CHECK(outline(s, s.add(s.mul(n, m), s.constant(1))) == print(s, s.add(s.mul(n, m), s.constant(1))));
  Expr deep = n;
  for (int i = 0; i < 200; i++) deep = s.min(s.floordiv(s.add(deep, m), s.constant(3)), s.max(deep, s.constant(7)));
  const std::string text = outline(s, deep);
  CHECK(text.size() <= 400);
  CHECK(text.find(" where $") != std::string::npos);
  CHECK(text.ends_with("; ..."));
  Expr wide = n;
  for (int i = 0; i < 200; i++) wide = s.add(wide, s.symbol("size" + std::to_string(i), SymbolKind::Dim));
  CHECK(outline(s, wide).size() < 200);
  CHECK(outline(s, wide).ends_with(" + ..."));
  // Whatever its length, a name of the model is kept: it says more than $1.
  Expr named = s.symbol("the number of rows after every step", SymbolKind::Dim);
  CHECK(outline(s, s.mul(named, named)).find('$') == std::string::npos);
}

TEST_CASE("texts that are outlined together share their definitions") {
  Store s;
  Expr part = read(s, "max(0, min(length, 512) - 3*(stride_of_rows + 1)//stride)");
  Expr a = read(s, "max(first_length_of_all, second_length_of_all) + third_length_of_all*fourth_length_of_all");
  const Expr list[] = {s.le(s.mul(part, part), a), s.mul(part, part)};
  const Outline outlined = outline(s, list);
  INFO(outlined.texts[0] << ", " << outlined.texts[1] << outlined.where);
  CHECK(outlined.texts[1].starts_with("$"));
  CHECK(outlined.texts[0].starts_with(outlined.texts[1] + " <= "));
  CHECK(outlined.where.starts_with(" where $"));
}

TEST_CASE("content hashes and text do not depend on the order of construction") {
  Store a, b;
  a.symbol("N", SymbolKind::Dim);
  a.symbol("M", SymbolKind::Dim);
  b.symbol("unrelated", SymbolKind::Dim);
  b.symbol("M", SymbolKind::Dim);
  b.symbol("N", SymbolKind::Dim);
  Expr x = read(a, "(N*M + 3*N)//7 + min(N, M)"), y = read(b, "min(M, N) + (3*N + M*N)//7");
  CHECK(a.content_hash(x) == b.content_hash(y));
  CHECK(print(a, x) == print(b, y));
  CHECK(a.content_hash(x) != a.content_hash(read(a, "(N*M + 3*N)//7 + max(N, M)")));
}

TEST_CASE("symbols") {
  Store s;
  Expr n = s.symbol("N", SymbolKind::Dim);
  CHECK_THROWS_AS(s.symbol("N", SymbolKind::Data), InternalError);
  CHECK(s.symbol_name(s.fresh("N", SymbolKind::Data)) == "N.1");
  CHECK(s.symbol_name(s.index("N", n)) == "N.2");
  CHECK(s.find_symbol("N") == n);
  CHECK_FALSE(s.find_symbol("M").has_value());
  Expr odd = s.symbol("batch size`\\", SymbolKind::Dim);
  CHECK(print(s, s.add(odd, n)) == "N + `batch size\\`\\\\`");
  Expr lines = s.symbol("two\nlines\t", SymbolKind::Dim);
  CHECK(print(s, lines) == "`two\\nlines\\x09`");
  CHECK(*parse(s, print(s, lines), false) == lines);
  // What the compiler calls by a name of the model's is another symbol.
  Expr taken = s.symbol("called.0.1", SymbolKind::Dim), param = s.param("called.0.1");
  CHECK(param != taken);
  CHECK(s.param("called.0.1") == param);
  CHECK(*parse(s, print(s, s.add(odd, n)), false) == s.add(odd, n));
  Expr keyword = s.symbol("min", SymbolKind::Dim);
  CHECK(*parse(s, print(s, keyword), false) == keyword);
  Expr e = s.add(s.mul(n, odd), s.constant(1));
  CHECK(s.symbols(e).size() == 2);
  CHECK(s.contains(e, n));
  CHECK_FALSE(s.has_symbol_of(e, SymbolKind::Index));
}

TEST_CASE("flat indices come apart also where the user bounds the dims") {
  Store s;
  const Expr h = s.symbol("H", SymbolKind::Dim, {1, 50}), w = s.symbol("W", SymbolKind::Dim, {1, 1000});
  const Expr i = s.index("i", h), j = s.index("j", w), flat = s.add(s.mul(i, w), j);
  CHECK(s.floordiv(flat, w) == i);
  CHECK(s.mod(flat, w) == j);
  CHECK(s.is_const(s.lt(flat, s.mul(h, w)), 1));
}

TEST_CASE("restrict narrows everything built on the symbol") {
  Store s;
  Expr n = s.symbol("N", SymbolKind::Dim), e = s.add(s.mul(n, s.constant(3)), s.constant(1)), i = s.index("i", n);
  CHECK(s.bounds(e) == Bounds{1, kMax});
  s.restrict(n, {1, 8});
  CHECK(s.bounds(e) == Bounds{4, 25});
  CHECK(s.bounds(i) == Bounds{0, 7});
}

TEST_CASE("topological lists operands before users") {
  Store s;
  Expr a = read(s, "(N + 1)//2"), b = read(s, "(N + 1)//2*M");
  Expr roots[] = {b, a};
  auto order = topological(s, roots);
  std::vector<Expr> seen;
  for (Expr e : order) {
    for (Expr o : s.operands(e)) CHECK(std::find(seen.begin(), seen.end(), o) != seen.end());
    CHECK(std::find(seen.begin(), seen.end(), e) == seen.end());
    seen.push_back(e);
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("malformed text is refused") {
  Store s;
  for (const char* text : {"",
                           "N +",
                           "(N",
                           "min(N",
                           "select(a, b)",
                           "floor_scale(N)",
                           "floor_scale(N, x)",
                           "`N",
                           "N M",
                           "99999999999999999999",
                           "a == b == c",
                           "1 +* 2",
                           "min()",
                           "N @ 2",
                           "$1",
                           "$1 + 1 where",
                           "$1 where $1 = $2; $2",
                           "$1 where $1 = $1",
                           "$1 where $1 = 2; $1 = 3",
                           "$1 where $1 = 2 3",
                           "1 where N = 2",
                           "1 where $ = `"}) {
    INFO(text);
    CHECK_FALSE(bool(parse(s, text, true)));
  }
  CHECK_FALSE(bool(parse(s, "unknown + 1", false)));
  CHECK_FALSE(bool(parse(s, std::string(100000, '('), true)));
  CHECK_FALSE(bool(parse(s, std::string(100000, '-') + "x", true)));
}
