#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/json.h"
#include "base/text.h"
#include "plan/capture_spec.h"
#include "plan/spec_keys.h"
#include "tensor/tensor_stats.h"

namespace tensortap {
namespace {

std::string problem(std::string_view text) {
  const Result<CaptureSpec> spec = spec_from_json(text, "c.json");
  if (spec.ok()) return "";
  EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
  return spec.status().message();
}

TEST(SpecJson, EmptyTextAndEmptyObjectAreTheDefault) {
  EXPECT_EQ(*spec_from_json("", "c.json"), CaptureSpec());
  EXPECT_EQ(*spec_from_json("{}", "c.json"), CaptureSpec());
}

TEST(SpecJson, ReadsEveryKey) {
  const Result<CaptureSpec> spec = spec_from_json(R"({
    "tensortap": 1,
    "include": ["conv_1", {"prefix": "/a"}, {"regex": "b$", "of_types": ["Conv"]}, {"type": "Gemm"}, {"type_contains": "norm"},
                {"from": "x", "to": ""}, {"module": "m.n"}, {"source": "train.py:41"}, {"id": "2,3_1", "children": true, "origin": "here"},
                {"full_regex": "a.*", "optional": true}, {"scoped_type": "relu"}, {"every": "single", "of_model": "m"}, {"operation_type": "lin"}],
    "exclude": [{"name": "z", "slots": ["in0", "out2", "out3"]}],
    "steps": "0|3-5", "first_step": 7, "slots": ["in"], "moment": "both", "payload": "full", "stats": ["min", "nan"], "non_finite": "propagate", "digest": "sha1",
    "histogram": true, "sketch": {"channels": -2, "blocks": 32}, "plain_order": false, "levels": ["op", "kernel"], "trigger": "exception", "where": "nan > 0", "sampling": {"elements": 1000, "head": 50},
    "limits": {"max_bytes": "4 GiB", "keep_free": 5, "stop_after": 9, "max_records": 8, "max_triggers": 4, "ring_ops": 6, "pool_bytes": "1MB"},
    "extras": {"weights": false, "graph_inputs": false, "graphs": true, "execution_order": true, "attributes": true, "constants": true,
               "topology": true, "read_inputs": true},
    "watchers": ["a", {"type": "b"}], "devices": [1, 3], "overflow_ops": "all", "exception_detail": "detail", "keep_for_readers": true, "model_ops": false, "single_ops": false,
    "budget": "3%", "full_policy": "drop", "strict": true, "layout": "ge", "profile": "p", "out": "o", "mode": "shared", "dialect": "acl",
    "layout_options": {"k": "v"}, "follow": {"path": "f.json", "over": "{}"}})",
                                                  "c.json");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  ASSERT_EQ(spec->include.size(), 13U);
  EXPECT_EQ(spec->include[11].of_model, "m");
  for (size_t i = 0; i < 13; ++i) EXPECT_EQ(static_cast<size_t>(spec->include[i].kind), i);
  EXPECT_EQ(spec->include[0].origin, "c.json:3:17");
  EXPECT_EQ(spec->include[2].of_types, std::vector<std::string>{"Conv"});
  EXPECT_EQ(spec->include[5].text, "x");
  EXPECT_EQ(spec->include[5].text_end, "");
  EXPECT_EQ(spec->include[8].origin, "here");
  EXPECT_TRUE(spec->include[8].children);
  EXPECT_EQ(spec->exclude[0].input_slots, std::vector<uint32_t>{0});
  EXPECT_EQ(spec->exclude[0].output_slots, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(spec->steps.to_text(), "0,3-5");
  EXPECT_TRUE(spec->inputs && !spec->outputs && spec->histogram && spec->strict && !spec->plain_order);
  EXPECT_EQ(spec->sketch_axis, -2);
  EXPECT_EQ(spec->sketch_block, 32U);
  EXPECT_EQ(spec->moment, MomentChoice::kBoth);
  EXPECT_EQ(spec->follow, (FollowedConfig{"f.json", "{}"}));
  EXPECT_EQ(spec->payload, Payload::kFull);
  EXPECT_EQ(spec->stats, kStatMin | kStatNan);
  EXPECT_EQ(spec->levels, (std::vector<std::string>{"op", "kernel"}));
  EXPECT_EQ(spec->trigger, Trigger::kException);
  EXPECT_TRUE(spec->include[9].optional && !spec->include[8].optional);
  EXPECT_EQ(spec->first_step, 7);
  EXPECT_EQ(spec->sampling, (Sampling{1000, 50}));
  EXPECT_EQ(spec->limits, (Limits{uint64_t{4} << 30, 5, 9, 8, 4, 6, 1000000}));
  EXPECT_EQ(spec->extras, (Extras{false, false, true, true, true, true, true, true}));
  EXPECT_DOUBLE_EQ(spec->budget, 0.03);
  EXPECT_EQ(spec->full_policy, FullPolicy::kDrop);
  EXPECT_EQ(spec->watchers.size(), 2U);
  EXPECT_EQ(spec->devices, (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(spec->overflow_ops, OverflowOps::kAll);
  EXPECT_EQ(spec->exception_detail, ExceptionDetail::kDetail);
  EXPECT_TRUE(spec->keep_for_readers);
  EXPECT_EQ(spec->access, Access::kShared);
  EXPECT_FALSE(spec->model_ops || spec->single_ops);
  EXPECT_EQ(spec->layout + spec->profile + spec->out + spec->dialect + spec->layout_options.at("k"), "gepoaclv");
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(*spec)), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *spec);
}

TEST(SpecJson, TheTableSaysEveryDefault) {
  const Json defaults = spec_to_json(CaptureSpec());
  for (const ConfigKey& key : spec_keys()) {
    Json value = defaults;
    for (const std::string_view part : split(key.name, '.')) value = Json(value.at(std::string(part)));
    EXPECT_EQ(value, Json::parse(key.default_value)) << key.name;
    EXPECT_FALSE(key.meaning.empty() || key.type.empty());
  }
}

// A document with `value` at a dotted key, on a separate line, and the position that an error must have.
std::string document(std::string_view key, std::string_view value, std::string& position) {
  const size_t dot = key.find('.');
  position = "c.json:3:3";
  if (dot == std::string_view::npos) return concat("{\n\n  \"", key, "\": ", value, "}");
  return concat("{\"", key.substr(0, dot), "\": {\n\n  \"", key.substr(dot + 1), "\": ", value, "}}");
}

TEST(SpecJson, EveryKeyOfTheWrongTypeIsRefusedWithItsPlace) {
  const std::vector<std::string> wrong = {"null", "true", "-1", "1.5", "\"~\"", "[1]", "[null]", "{\"a\": 1}", "[[]]", "-9e99", "[\"~\"]"};
  // What is of the right type all the same.
  const std::set<std::string> fine = {"limits.stop_after null", "limits.keep_free null", "profile \"~\"",     "out \"~\"",
                                      "dialect \"~\"",          "layout \"~\"",          "devices [1]",       "include [\"~\"]",
                                      "exclude [\"~\"]",        "watchers [\"~\"]",      "follow.path \"~\"", "follow.over \"~\"",
                                      "sketch.channels null",   "sketch.channels -1",    "step_at \"~\""};
  for (const ConfigKey& key : spec_keys()) {
    for (const std::string& value : wrong) {
      if (fine.contains(concat(key.name, " ", value)) || (key.type == "true or false" && value == "true")) continue;
      std::string position;
      const std::string message = problem(document(key.name, value, position));
      // Elements and members stand further right on the same line.
      const std::string line = value.front() == '[' || value.front() == '{' ? "c.json:3:" : position + ": ";
      EXPECT_TRUE(message.starts_with(line)) << key.name << " = " << value << "\n" << message;
      EXPECT_NE(message.find(": " + std::string(key.name)), std::string::npos) << key.name << " = " << value << "\n" << message;
    }
  }
}

TEST(SpecJson, EveryKeyIsRefusedTwice) {
  for (const ConfigKey& key : spec_keys()) {
    const size_t dot = key.name.find('.');
    const std::string name(key.name.substr(dot == std::string_view::npos ? 0 : dot + 1));
    const std::string pair = concat("\"", name, "\": ", key.default_value, ",\n \"", name, "\": ", key.default_value);
    const std::string text = dot == std::string_view::npos ? "{" + pair + "}" : concat("{\"", key.name.substr(0, dot), "\": {", pair, "}}");
    EXPECT_EQ(problem(text), concat("c.json:2:2: the key \"", name, "\" occurs twice"));
  }
}

TEST(SpecJson, EveryMisspeltKeyGetsTheNearest) {
  for (const ConfigKey& key : spec_keys()) {
    const size_t dot = key.name.find('.');
    std::string name(key.name.substr(dot == std::string_view::npos ? 0 : dot + 1));
    name.insert(1, "q");
    const std::string inner = concat("\n \"", name, "\": ", key.default_value);
    const std::string text =
        dot == std::string_view::npos ? "{" + inner + "}" : concat("{\"", key.name.substr(0, dot), "\": {", inner, "}}");
    const std::string message = problem(text);
    EXPECT_TRUE(message.starts_with("c.json:2:2: ")) << message;
    EXPECT_NE(message.find("unknown key. Did you mean "), std::string::npos) << message;
    EXPECT_NE(message.find(quote(name.erase(1, 1))), std::string::npos) << message;
  }
}

TEST(SpecJson, ValuesOutOfRangeAreRefused) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"tensortap", "2", "reads version 1"},
      {"steps", "\"5-3\"", "the wrong way round"},
      {"steps", "-1", "not a whole number from 0"},
      {"slots", "[]", "chooses no slot"},
      {"slots", "[\"out0\"]", "is not one of \"in\" or \"out\""},
      {"moment", "\"later\"", "is not one of \"after\", \"before\", \"both\" or \"in-before-out-after\""},
      {"payload", "\"statistic\"", "is not one of"},
      {"stats", "[\"minn\"]", "Did you mean \"min\""},
      {"non_finite", "\"skip\"", "is not one of"},
      {"digest", "\"crc\"", "is not one of"},
      {"levels", "[]", "chooses no level"},
      {"trigger", "\"often\"", "is not one of"},
      {"where", "\"nan >\"", "column 6: expected"},
      {"sampling.elements", "-1", "not a whole number"},
      {"sketch.channels", "32", "must be an axis from -32 to 31"},
      {"sketch.channels", "-33", "must be an axis from -32 to 31"},
      {"sketch.channels", "18446744073709551615", "must be an axis from -32 to 31"},
      {"sketch.blocks", "17", "must be 16, 32 or 128 elements, or 0 for none, not 17"},
      {"sampling.elements", "9007199254740993", "not a whole number from 0 to 9007199254740992"},
      {"limits.max_bytes", "\"4 parsecs\"", "is not a number of bytes"},
      {"limits.keep_free", "-4", "not a whole number"},
      {"limits.stop_after", "0", "from 1 to"},
      {"limits.pool_bytes", "100", "at least 64 KiB"},
      {"budget", "1.5", "out of range"},
      {"budget", "-0.1", "out of range"},
      {"budget", "\"200%\"", "out of range"},
      {"budget", "\"3\"", "is not a share"},
      {"full_policy", "\"wait\"", "is not one of"},
      {"layout", "\"\"", "must not be empty"},
      {"dialect", "\"\"", "must not be empty"},
      {"out", "\"a\\u0000b\"", "zero byte"},
      {"include", "[\"\"]", "must not be an empty name"},
      {"include", "[{}]", "says no way to pick"},
      {"include", "[{\"name\": \"\"}]", "must not be empty"},
      {"include", "[{\"name\": \"a\", \"type\": \"b\"}]", "is combined with \"name\""},
      {"include", "[{\"nam\": \"a\"}]", "Did you mean \"name\""},
      {"include", "[{\"name\": \"a\", \"slots\": [\"in0\"]}]", "belongs to \"exclude\" only"},
      {"include", "[{\"every\": \"ops\"}]", "is not one of \"op\", \"single\" or \"root\""},
      {"watchers", "[{\"name\": \"a\", \"slots\": [\"in0\"]}]", "belongs to \"exclude\" only"},
      {"exception_detail", "\"full\"", "is not one of"},
      {"include", "[{\"from\": \"a\"}]", "needs \"to\""},
      {"include", "[{\"name\": \"a\", \"to\": \"b\"}]", "needs \"from\""},
      {"include", "[{\"id\": \"2_x\"}]", "is not an id"},
      {"include", "[{\"name\": \"2\", \"children\": true}]", "goes with \"id\" only"},
      {"exclude", "[{\"name\": \"2\", \"slots\": [\"in\"]}]", "is not a slot"},
      {"exclude", "[{\"name\": \"2\", \"slots\": [\"out99999\"]}]", "is not a slot"},
      {"exclude", "[{\"name\": \"2\", \"of_types\": [\"\"]}]", "empty type"},
  };
  for (const auto& [key, value, part] : cases) {
    std::string position;
    const std::string message = problem(document(key, value, position));
    EXPECT_TRUE(message.starts_with("c.json:3:")) << key << " " << value << "\n" << message;
    EXPECT_NE(message.find(": " + key), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(SpecJson, NotAnObjectOrNotJson) {
  EXPECT_TRUE(problem("[]").starts_with("c.json:1:1: must be an object"));
  EXPECT_TRUE(problem("{\"steps\": ").starts_with("c.json:1:"));
  EXPECT_TRUE(problem("{\"limits.max_bytes\": 3}").starts_with("c.json:1:2: limits.max_bytes: unknown key"));
  EXPECT_TRUE(problem("{\"a\\nb\": 3}").starts_with("c.json:1:2: a\\u000ab: unknown key"));
}

OpSelector random_selector(bool exclusion) {
  OpSelector selector;
  selector.kind = static_cast<OpSelector::Kind>(*rc::gen::inRange(0, 8));
  const auto text = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  selector.text = *text;
  if (selector.kind == OpSelector::Kind::kOrderRange) selector.text_end = *text;
  selector.origin = *text;
  if (exclusion && *rc::gen::arbitrary<bool>()) selector.input_slots = {static_cast<uint32_t>(*rc::gen::inRange(0, 65536))};
  if (*rc::gen::arbitrary<bool>()) selector.of_types = {*text, *text};
  if (*rc::gen::arbitrary<bool>()) selector.of_model = *text;
  return selector;
}

RC_GTEST_PROP(SpecJson, ReadsBackWhatItWrites, ()) {
  CaptureSpec spec;
  const int selectors = *rc::gen::inRange(0, 4);
  for (int i = 0; i < selectors; ++i) {
    spec.include.push_back(random_selector(false));
    spec.exclude.push_back(random_selector(true));
    spec.watchers.push_back(random_selector(false));
  }
  spec.steps.add(*rc::gen::inRange(0, 9), *rc::gen::inRange(9, 99));
  spec.inputs = *rc::gen::arbitrary<bool>();
  spec.outputs = !spec.inputs || *rc::gen::arbitrary<bool>();
  spec.payload = static_cast<Payload>(*rc::gen::inRange(0, 4));
  spec.stats = static_cast<uint32_t>(*rc::gen::inRange(0, 1 << 13));
  spec.histogram = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) spec.sketch_axis = *rc::gen::inRange(-32, 32);
  spec.sketch_block = *rc::gen::element<uint32_t>(0, 16, 32, 128);
  spec.budget = *rc::gen::inRange(0, 100) / 100.0;
  spec.limits.max_bytes = static_cast<uint64_t>(*rc::gen::inRange<int64_t>(0, int64_t{1} << 60));
  spec.limits.stop_after = *rc::gen::element<int64_t>(-1, 1, 50);
  spec.out = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(spec)), "c.json");
  if (!again.ok()) RC_FAIL(again.status().message());
  RC_ASSERT(*again == spec);
}

}  // namespace
}  // namespace tensortap
