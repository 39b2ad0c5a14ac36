// What the prover must be able to decide, as tables: assumptions, question, answer.
#include "catch.h"
#include "sym/expr.h"

using namespace dlcb;
using namespace dlcb::sym;

namespace {

// Dims H W C N M, data symbols A B of any sign, indices i < H, j < W, c < C.
struct World {
  Store s;
  Facts facts{s};
  World() {
    Expr extents[3];
    int n = 0;
    for (const char* name : {"H", "W", "C"}) extents[n++] = s.symbol(name, SymbolKind::Dim);
    for (const char* name : {"N", "M", "K"}) s.symbol(name, SymbolKind::Dim);
    for (const char* name : {"A", "B"}) s.symbol(name, SymbolKind::Data, {kMin, kMax});
    s.index("i", extents[0]);
    s.index("j", extents[1]);
    s.index("c", extents[2]);
  }
  Expr read(std::string_view text) {
    Result<Expr> e = parse(s, text, false);
    INFO(text);
    REQUIRE(bool(e));
    return *e;
  }
};

}  // namespace

TEST_CASE("prove") {
  const Tri yes = Tri::Yes, no = Tri::No, unknown = Tri::Unknown;
  const struct {
    std::vector<const char*> given;
    const char* question;
    Tri answer;
  } rows[] = {
      {{}, "(32*N) % 8 == 0", yes},
      {{}, "2*N + 1 != 0", yes},
      {{}, "2*((H + 31)//32) == (H + 15)//16", unknown},
      {{}, "N >= 1", unknown},
      {{}, "i*W + j < H*W", yes},
      {{}, "(i*W + j)*C + c < H*W*C", yes},
      {{}, "i*W + j < H", unknown},
      {{"W <= 1000", "H <= 50"}, "i*W + j < H*W", yes},
      {{"W <= 1000", "H <= 50", "C <= 9"}, "(i*W + j)*C + c < H*W*C", yes},
      {{"W <= 1000", "H <= 50"}, "i*W + j <= 49999", yes},
      {{}, "H >= 1 or N >= 0", yes},
      {{}, "N >= 0 and M >= 0", yes},
      {{}, "(A//4)*4 <= A", yes},
      {{}, "A - (A//7)*7 < 7", yes},
      {{}, "min(N, M) <= N", yes},
      {{}, "max(N, M) >= min(N, M)", yes},
      {{}, "select(N == 3, M, N) >= 0", yes},
      {{}, "N//2 <= N", yes},
      {{}, "(N + 3)//4*4 >= N", yes},
      {{}, "min(A, 3)*2 == 7", no},
      {{"N >= 1"}, "N*W >= W", yes},
      {{"N >= 1", "N <= 8"}, "N*N <= 64", yes},
      {{"N == 2*M"}, "N % 2 == 0", yes},
      {{"N == M"}, "N + 1 == M", no},
      {{"N == M", "M == K"}, "N*H == K*H", yes},
      {{"N*M == 768"}, "N != 0", yes},
      {{"N*M == 768"}, "N*M*K == 768*K", yes},
      {{"N % 4 == 0"}, "(N*3) % 4 == 0", yes},
      {{"N % 4 == 1"}, "N % 2 == 0", no},
      {{"A <= B", "B <= N"}, "A <= N", yes},
      {{"A < B", "B < N"}, "A + 2 <= N", yes},
      {{"2*A <= B", "B <= 7"}, "A <= 3", yes},
      {{"H <= W"}, "H*N <= W*N", yes},
      {{"N != 0"}, "N >= 1", yes},
      {{"not N == 5"}, "N == 5", no},
      {{"N == 3 or M == 3"}, "N == 3 or M == 3", yes},
      {{"i + 1 == H"}, "i + 2 <= H", no},
      {{"N*3 == M*2"}, "N*6 == M*4", yes},
      {{"N == 4"}, "select(N == 4, A, B) == A", yes},
      {{"A >= 0", "A < K", "K <= N"}, "A//N == 0", yes},
  };
  for (const auto& row : rows) {
    World w;
    std::string given;
    for (const char* text : row.given) {
      w.facts.assume(w.read(text));
      given += std::string(text) + "; ";
    }
    INFO("given " << given << "is " << row.question);
    CHECK(int(w.facts.prove(w.read(row.question))) == int(row.answer));
  }
}

TEST_CASE("simplify") {
  const struct {
    std::vector<const char*> given;
    const char *before, *after;
  } rows[] = {
      {{"N >= 1"}, "N*197*768//(N*768)", "197"},
      {{"N >= 1", "M >= 1"}, "N*M*K//(M*N)", "K"},
      {{}, "N*(N*M//N)", "M*N"},
      {{"N == 2*M"}, "N*3 + M", "7*M"},
      {{"N % 4 == 0"}, "(N + 3)//4*4 + N % 2", "N"},
      {{"N*M == 768"}, "N*M*K//768", "K"},
      {{"A <= B"}, "min(A, B) + max(A, B)", "A + B"},
      {{"N >= 1"}, "select(N == 0, 5, M)", "M"},
      {{"K >= 1"}, "N*K == M*K", "M == N"},
      {{"W >= 1"}, "i*W//W", "i"},
      {{"A >= 0", "A < W"}, "(i*W + A) % W + (i*W + A)//W", "A + i"},
      {{"W >= 1"}, "(H*W*A + H*W)//(H*W*B)", "(A*H + H)//(B*H)"},
      {{"N == 1"}, "min(N*M, M + A)", "min(M, A + M)"},
      {{"N >= 3", "N <= 3"}, "N + M", "M + 3"},
  };
  for (const auto& row : rows) {
    World w;
    std::string given;
    for (const char* text : row.given) {
      w.facts.assume(w.read(text));
      given += std::string(text) + "; ";
    }
    INFO("given " << given << row.before);
    CHECK(print(w.s, w.facts.simplify(w.read(row.before))) == row.after);
  }
}

TEST_CASE("facts answer about divisors and bounds, and are values") {
  World w;
  Facts before = w.facts;
  w.facts.assume(w.read("N % 8 == 0"));
  w.facts.assume(w.read("N <= 100"));
  CHECK(w.facts.divides(8, w.read("N*3 + 16")));
  CHECK_FALSE(w.facts.divides(16, w.read("N")));
  CHECK(w.facts.bounds(w.read("N")) == Bounds{0, 96});
  CHECK(w.facts.bounds(w.read("2*N + 1")).hi == 193);
  CHECK_FALSE(before.divides(8, w.read("N")));
  CHECK(before.assumptions().empty());
  CHECK(w.facts.assumptions().size() == 2);
  CHECK(w.facts.equal(w.read("(N + 7)//8"), w.read("N//8")));
}
