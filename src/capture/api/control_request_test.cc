#include "api/control_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensortap {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto request = parse_control(text, "control.json");
  return request.ok() ? "" : request.status().message();
}

TEST(ControlRequests, AreReadWhole) {
  const auto request = parse_control(R"({"seq": 7, "config": {"payload": "full"}, "steps": "now..+3", "on": true, "flush": true})", "c");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->seq, 7U);
  EXPECT_EQ(request->config, R"({"payload":"full"})");
  EXPECT_EQ(request->steps, "now..+3");
  EXPECT_EQ(request->on, std::optional(true));
  EXPECT_TRUE(request->flush && !request->snapshot && request->changes_plan());
  EXPECT_FALSE(parse_control(R"({"flush": true})", "c")->changes_plan());
}

TEST(ControlRequests, OfAnyOtherFormAreRefused) {
  EXPECT_THAT(refusal(R"({"seq": 7, "on": tr)"), HasSubstr("control.json:1:"));
  EXPECT_THAT(refusal("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(refusal(""), HasSubstr("control.json"));
  EXPECT_THAT(refusal(R"({"seq": 1})"), HasSubstr("asks for nothing"));
  EXPECT_THAT(refusal(R"({"config": {}})"), HasSubstr("asks for nothing"));
  EXPECT_THAT(refusal(R"({"step": "1"})"), HasSubstr("\"step\": unknown key. Did you mean \"steps\""));
  EXPECT_THAT(refusal(R"({"on": 1})"), HasSubstr("on must be true or false"));
  EXPECT_THAT(refusal(R"({"seq": -1, "on": true})"), HasSubstr("seq must be"));
  EXPECT_THAT(refusal(R"({"config": [], "on": true})"), HasSubstr("config must be"));
  EXPECT_THAT(refusal(R"({"steps": 3})"), HasSubstr("steps must be"));
  EXPECT_THAT(refusal(R"({"steps": "now", "then": "forward"})"), HasSubstr("then must be \"back\""));
  EXPECT_THAT(refusal(R"({"steps": "now", "then": true})"), HasSubstr("then must be \"back\""));
  EXPECT_THAT(refusal(R"({"config": {"payload": "full"}, "then": "back"})"), HasSubstr("then: needs steps"));
  EXPECT_TRUE(parse_control(R"({"steps": "now", "then": "back"})", "c")->then_back);
}

TEST(ControlRequests, AreAnsweredByTheirNumberWhateverElseIsWrong) {
  EXPECT_EQ(sequence_of(R"({"seq": 12, "what": 1})"), 12U);
  for (const char* text : {"", "{", "[]", R"({"seq": "12"})", R"({"seq": -2})", R"({"on": true})"})
    EXPECT_EQ(sequence_of(text), 0U) << text;
}

CaptureSpec changed(std::string_view text, const CaptureSpec& asked = {}, int64_t step = 10) {
  const auto request = parse_control(text, "c");
  EXPECT_TRUE(request.ok());
  const auto next = changed_spec(*request, asked, step);
  EXPECT_TRUE(next.ok()) << next.status().message();
  return next.ok() ? *next : CaptureSpec{};
}

std::string not_changed(std::string_view text) { return changed_spec(*parse_control(text, "c"), {}, 10).status().message(); }

TEST(ControlRequests, StepsCanBeRelativeToTheOneThatTakesThemUp) {
  const auto steps = [](std::string text) { return changed(R"({"steps": ")" + text + "\"}").steps.to_text(); };
  EXPECT_EQ(steps("now"), "10");
  EXPECT_EQ(steps("now..+3"), "10-13");
  EXPECT_EQ(steps("now..+0"), "10");
  EXPECT_EQ(steps("now.."), "10-");
  EXPECT_EQ(steps("now..12"), "10-12");
  EXPECT_EQ(steps("now..+9223372036854775807"), "10-");
  EXPECT_EQ(steps("20,30-40"), "20,30-40");
  EXPECT_EQ(steps("all"), "all");
  for (const char* text : {"now+3", "now..-1", "now..+", "now..+x", "nower", "now..99999999999999999999", "x"}) {
    const std::string request = std::string(R"({"flush": true, "steps": ")") + text + "\"}";
    EXPECT_THAT(not_changed(request), HasSubstr("steps")) << text;
  }
  EXPECT_THAT(not_changed(R"({"steps": "now..9"})"), HasSubstr("has ended: step 10 is the next"));
}

TEST(ControlRequests, ChangeWhatTheyNameAndNothingElse) {
  CaptureSpec asked;
  asked.where = "nan > 0";
  asked.limits.max_records = 5;
  asked.limits.ring_ops = 3;
  asked.dialect = "acl";
  asked.idle = true;
  const CaptureSpec next = changed(R"({"config": {"payload": "full", "include": [{"regex": "norm"}], "limits": {"ring_ops": 4}}})", asked);
  CaptureSpec expected = asked;
  expected.payload = Payload::kFull;
  expected.include = next.include;
  expected.limits.ring_ops = 4;
  expected.idle = false;
  EXPECT_EQ(next, expected);
  ASSERT_EQ(next.include.size(), 1U);
  EXPECT_EQ(next.include[0].text, "norm");
  EXPECT_TRUE(changed(R"({"config": {"payload": "full"}, "on": false})").idle);
  EXPECT_FALSE(changed(R"({"on": true})", asked).idle);
}

TEST(ControlRequests, WhoeverAsksAgainDoesNotMeanStepsThatHavePassed) {
  CaptureSpec asked;
  asked.steps = *StepSet::parse("3-6");
  EXPECT_TRUE(changed(R"({"on": true})", asked).steps.is_all());
  EXPECT_EQ(changed(R"({"on": true})", asked, 5).steps.to_text(), "3-6");
  EXPECT_EQ(changed(R"({"on": false})", asked).steps.to_text(), "3-6");
}

TEST(ControlRequests, AreReadByTheParserOfConfigs) {
  EXPECT_THAT(not_changed(R"({"config": {"paylod": "full"}})"), HasSubstr("Did you mean \"payload\"?"));
  EXPECT_THAT(not_changed(R"({"config": {"payload": "everything"}})"), HasSubstr("payload"));
  EXPECT_THAT(not_changed(R"({"config": {"where": "nan >"}})"), HasSubstr("where"));
}

}  // namespace
}  // namespace tensortap
