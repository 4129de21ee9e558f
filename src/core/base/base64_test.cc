#include "base/base64.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

std::string base64_of(std::string_view text) {
  std::string encoded = "x";
  append_base64(std::as_bytes(std::span(text.data(), text.size())), encoded);
  return encoded;
}

// The test vectors of RFC 4648, section 10, and every sign.
TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64_of(""), "x");
  EXPECT_EQ(base64_of("f"), "xZg==");
  EXPECT_EQ(base64_of("fo"), "xZm8=");
  EXPECT_EQ(base64_of("foo"), "xZm9v");
  EXPECT_EQ(base64_of("foobar"), "xZm9vYmFy");
  EXPECT_EQ(base64_of("\xfb\xff\xbe"), "x+/++");
}

}  // namespace
}  // namespace tensortap
