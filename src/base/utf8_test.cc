#include "base/utf8.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tensortap
