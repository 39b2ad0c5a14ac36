#include <set>

#include "base/diagnostic.h"
#include "base/dtype.h"
#include "base/result.h"
#include "catch.h"

using namespace dlcb;

namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return diag(DiagKind::BadFlag, {"odd"});
  return value / 2;
}

Result<std::string> quarter_text(int value) {
  DLCB_ASSIGN(int first, half(value));
  DLCB_ASSIGN(int second, half(first));
  return std::to_string(second);
}

Status only_even(int value) {
  DLCB_TRY(half(value));
  return ok();
}

}  // namespace

TEST_CASE("text names the code, the place and the chain") {
  Diagnostic d =
      diag(DiagKind::CannotOpen, {"a.onnx", "no such file"}, {"model.onnx", "Conv", "/enc/conv0", "kernel 7"},
           {{"'T' is dim 1 of input 'speech'", {}}, {"made here", {"", "Add", "add1", ""}}});
  CHECK(message(d) == "cannot open 'a.onnx': no such file");
  CHECK(to_text(d) ==
        "error[DLCB1002]: cannot open 'a.onnx': no such file\n"
        "  from Conv '/enc/conv0' (kernel 7) in model.onnx\n"
        "  'T' is dim 1 of input 'speech'\n"
        "  made here, from Add 'add1'\n");
}

TEST_CASE("JSON carries the same value on one line") {
  Diagnostic d = diag(DiagKind::BadFlag, {"a \"b\"\n"}, {"", "", "n", ""}, {{"note", {}}});
  CHECK(to_json(d) ==
        R"({"severity":"error","code":"DLCB1001","kind":"BadFlag","message":"a \"b\"\n","args":["a \"b\"\n"],)"
        R"("where":{"node":"n"},"notes":[{"text":"note","where":{}}]})");
}

TEST_CASE("arguments holding braces are not expanded again") {
  CHECK(message(diag(DiagKind::CannotOpen, {"{}", "{}{}"})) == "cannot open '{}': {}{}");
}

TEST_CASE("a wrong number of arguments is a fault of ours") {
  CHECK_THROWS_AS(message(diag(DiagKind::CannotOpen, {"one"})), InternalError);
  CHECK_THROWS_AS(message(diag(DiagKind::CannotOpen, {"one", "two", "three"})), InternalError);
}

TEST_CASE("codes are unique and their thousands agree with the exit code's meaning") {
  std::set<int> codes;
  auto check = [&](int code, ExitCode exit) {
    CHECK(codes.insert(code).second);
    if (code < 2000) CHECK(exit == ExitCode::Usage);
    if (code >= 3000 && code < 3100) CHECK(exit == ExitCode::RefusedInput);
  };
#define DIAG(code, name, exit, text) check(code, ExitCode::exit);
#include "base/diagnostics.def"
#undef DIAG
}

TEST_CASE("Result passes values and errors on") {
  CHECK(*quarter_text(12) == "3");
  REQUIRE_FALSE(quarter_text(6));
  CHECK(message(quarter_text(6).error()) == "odd");
  CHECK(only_even(2));
  CHECK_FALSE(only_even(1));
}

TEST_CASE("element types read back what they print") {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    auto type = static_cast<DType>(i);
    CHECK(parse_dtype(name_of(type)) == type);
  }
  CHECK_FALSE(parse_dtype("float32"));
}
