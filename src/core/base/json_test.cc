#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tensortap {
namespace {

std::string error_of(std::string_view text) {
  const Result<Json> result = parse_json(text, "c.json");
  return result.ok() ? "" : result.status().message();
}

TEST(Json, ErrorsSayLineAndColumn) {
  EXPECT_TRUE(error_of("{\n  \"a\": 1,\n  \"b\": x}").starts_with("c.json:3:8: ")) << error_of("{\n  \"a\": 1,\n  \"b\": x}");
  EXPECT_TRUE(error_of("").starts_with("c.json:1:1: "));
  EXPECT_EQ(error_of(std::string_view("{}\n\0x", 5)), "c.json:2:1: a zero byte, which no JSON text holds");
  EXPECT_EQ(error_of("{\"a\": 1, \"a\": 2}"), "c.json:1:10: the key \"a\" occurs twice");
}

TEST(Json, RepeatedKeysCanBeAllowed) {
  std::vector<std::string> repeated;
  const Result<Json> result = parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}, "a": 3})", "c.json", repeated);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->dump(), R"({"a":3,"b":{"c":2}})");
  EXPECT_EQ(repeated, (std::vector<std::string>{"c", "a"}));
}

TEST(Json, ObjectsOfManyKeysAreReadAsThoseOfFew) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += concat("\"k", i, "\": [", i, ", {\"x\": null}], ");
  const Result<Json> whole = parse_json(concat(text, "\"end\": true}"), "c.json");
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  ASSERT_EQ(whole->size(), 1001);
  EXPECT_EQ(whole->items().begin().key(), "k0");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ((*whole)[concat("k", i)][0], i);
  EXPECT_EQ(error_of(concat(text, "\"k7\": 1}")).substr(0, 9), "c.json:1:");
  std::vector<std::string> repeated;
  const Result<Json> last = parse_json(concat(text, "\"k7\": 1, \"k900\": 2, \"k900\": 3}"), "c.json", repeated);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(repeated, (std::vector<std::string>{"k7", "k900", "k900"}));
  EXPECT_EQ((*last)["k7"], 1);
  EXPECT_EQ((*last)["k900"], 3);
  EXPECT_EQ(last->size(), 1000);
}

TEST(Json, ListsTheKeysOfTheOutermostObject) {
  EXPECT_EQ(json_keys(R"({"a": {"b": 1}, "c": [{"d": 2}], "a": 3})"), (std::vector<std::string>{"a", "c", "a"}));
  EXPECT_EQ(json_keys(" {} "), std::vector<std::string>());
  for (const char* text : {"", "3", "[{}]", "{\"a\": ", "{} {}", "{\"a\": 1,}"}) EXPECT_EQ(json_keys(text), std::nullopt) << text;
  EXPECT_EQ(json_keys(std::string(kMaxJsonDepth + 1, '[')), std::nullopt);
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_NE(error_of(std::string(200, '[') + std::string(200, ']')).find("nested more than"), std::string::npos);
  EXPECT_EQ(error_of(std::string(90, '[') + std::string(90, ']')), "");
}

TEST(Json, PositionsOfValues) {
  const std::string text = "{\"a\": [1, {\"b/c\": \"},\\\"\", \"d\": true}],\n \"e\": {}}";
  EXPECT_EQ(json_position(text, ""), "1:1");
  EXPECT_EQ(json_position(text, "/a"), "1:2");
  EXPECT_EQ(json_position(text, "/a/1/d"), "1:27");
  EXPECT_EQ(json_position(text, "/a/1/b~1c"), "1:12");
  EXPECT_EQ(json_position(text, "/e"), "2:2");
  EXPECT_EQ(json_position(text, "/nothing"), "1:1");
}

TEST(Json, NonFiniteNumbersAreTexts) {
  EXPECT_EQ(to_json_text({{"x", json_number(-INFINITY)}, {"y", json_number(0.5)}}), R"({"x":"-inf","y":0.5})");
}

}  // namespace
}  // namespace tensortap
