#include "base/controls.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

// Right-to-left override, isolate, mark; C1's CSI; a tag; written as bytes so that no editor obeys them.
constexpr const char* kHostile =
    "a\xe2\x80\xae"
    "b\xe2\x81\xa6"
    "c\xe2\x80\x8f"
    "d\xc2\x9b"
    "e\xf3\xa0\x81\x81"
    "f\x1b"
    "g";

TEST(Controls, WhatATerminalObeysIsFound) {
  EXPECT_EQ(control_length("\x1b[2J"), 1U);
  EXPECT_EQ(control_length("\x7f"), 1U);
  EXPECT_EQ(control_length("\xc2\x9b"
                           "31m"),
            2U);
  EXPECT_EQ(control_length("\xd8\x9c"), 2U);
  for (const char last : {'\x8e', '\x8f', '\xa8', '\xaa', '\xae'}) EXPECT_EQ(control_length(std::string("\xe2\x80") + last), 3U);
  for (const char last : {'\xa0', '\xa6', '\xa9'}) EXPECT_EQ(control_length(std::string("\xe2\x81") + last), 3U);
  EXPECT_EQ(control_length("\x9b"), 1U);
  EXPECT_EQ(control_length("\xe2\x80"), 1U);
}

TEST(Controls, CharactersStay) {
  for (const char* text : {"a", " ", "~", "\xc2\xa0", "\xc3\xa4", "\xe2\x80\x93", "\xe2\x80\x8d", "\xe4\xbd\xa0", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(control_length(text), 0U) << text;
    EXPECT_EQ(replace_controls(text, visible_escape_of), text);
  }
}

TEST(Controls, PeopleSeeWhatItWas) {
  EXPECT_EQ(replace_controls(kHostile, visible_escape_of), "a\\u202eb\\u2066c\\u200fd\\x9be\\U000e0041f\\x1bg");
  EXPECT_EQ(replace_controls("\xff", visible_escape_of), "\\xff");
}

TEST(Controls, JsonEscapesThemAndReadsThemBack) {
  const std::string text = to_json_text(Json(kHostile));
  EXPECT_EQ(text, "\"a\\u202eb\\u2066c\\u200fd\\u009be\\udb40\\udc41f\\u001bg\"");
  EXPECT_EQ(Json::parse(text).get<std::string>(), kHostile);
  EXPECT_EQ(quote(kHostile), text);
}

}  // namespace
}  // namespace tensortap
