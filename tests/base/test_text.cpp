#include "base/text.h"
#include "catch.h"

using namespace dlcb;

TEST_CASE("split and join are inverse and keep empty parts") {
  for (std::string text : {"", "a", "a,b", ",", "a,,b,"}) CHECK(join(split(text, ','), ",") == text);
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
}

TEST_CASE("trim removes blanks at the ends only") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
}

TEST_CASE("quote makes hostile names harmless") {
  CHECK(quote("/enc/conv0") == "'/enc/conv0'");
  CHECK(quote("a'b\\\x1b[2J") == "'a\\'b\\\\\\x1b[2J'");
}

TEST_CASE("json_quote always gives valid JSON") {
  CHECK(json_quote("a\"b\\c\nd\x01") == "\"a\\\"b\\\\c\\nd\\u0001\"");
  CHECK(json_quote("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  CHECK(json_quote("\xff\xc3") == "\"\\ufffd\\ufffd\"");                        // no lead byte, cut sequence
  CHECK(json_quote("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");             // a surrogate
  CHECK(json_quote("\xe0\x80\xaf") == "\"\\ufffd\\ufffd\\ufffd\"");             // overlong
  CHECK(json_quote("\xf4\x90\x80\x80") == "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");  // above U+10FFFF
}

TEST_CASE("edit distance counts swaps of neighbours once") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("--traget", "--target") == 1);
}

TEST_CASE("closest suggests only what is near") {
  std::vector<std::string> flags = {"--target", "--threads", "--input"};
  CHECK(closest("--traget", flags) == "--target");
  CHECK(closest("--inputs", flags) == "--input");
  CHECK(closest("--quantise", flags) == std::nullopt);
  CHECK(closest("x", flags) == std::nullopt);
}
