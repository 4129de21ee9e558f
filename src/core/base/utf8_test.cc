#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tensortap {
namespace {

TEST(Utf8, TakesEveryCodePointAndNothingElse) {
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    std::string text;
    append_utf8(code, text);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    ASSERT_EQ(utf8_length(text), surrogate ? 0 : text.size()) << code;
  }
}

TEST(Utf8, RefusesDamagedSequences) {
  for (const std::string_view text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xc3(", "\xff"}) {
    EXPECT_EQ(utf8_length(text), 0) << text;
  }
}

// The numbers of U+FFFD are those of Python's bytes.decode("utf-8", "replace").
TEST(Utf8, ReplacesWhatIsBroken) {
  const std::pair<std::string_view, size_t> cases[] = {
      {"a\xff", 1},        {"\xe2\x82", 1},         {"\xe2\x82", 1},         {"\xe2\xff", 2}, {"\xed\xa0\x80", 3},
      {"\xf0\x9f\x98", 1}, {"\xf0\x80\x80\x80", 4}, {"\xf4\x90\x80\x80", 4}, {"\xc0\xaf", 2}, {"\xf0\x9f\xff", 2},
      {"\xc3", 1},         {"\xc3\xa9", 0}};
  for (const auto& [text, count] : cases) {
    const std::string replaced = replace_broken_utf8(std::string(text) + "z");
    size_t found = 0;
    for (size_t at = 0; (at = replaced.find("\xef\xbf\xbd", at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, count) << testing::PrintToString(text);
    EXPECT_EQ(replaced.back(), 'z');
  }
}

}  // namespace
}  // namespace tensortap
