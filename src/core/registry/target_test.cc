#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(const std::string& config) {
  const Result<CaptureSpec> spec = read_config(config, "cfg.json");
  return spec.ok() ? std::string() : spec.status().message();
}

TEST(CheckTarget, AnUnknownOptionIsRefusedWithItsPlaceAndTheNearestWord) {
  EXPECT_THAT(refusal("{\"layout\": \"mindspore\",\n \"layout_options\": {\"net_nmae\": \"x\"}}"),
              AllOf(StartsWith("cfg.json:2:21: layout_options.net_nmae: "), HasSubstr("unknown option of the layout \"mindspore\""),
                    HasSubstr("Did you mean \"net_name\"?")));
  EXPECT_THAT(refusal(R"({"layout": "ge", "layout_options": {"trans_flag": "banana"}})"), HasSubstr("unknown option of the layout \"ge\""));
  EXPECT_THAT(refusal(R"({"layout_options": {"net_name": "x"}})"), HasSubstr("it has none"));
}

TEST(CheckTarget, AValueThatTheLayoutDoesNotTakeIsRefusedBeforeAnythingIsWritten) {
  EXPECT_THAT(refusal(R"({"layout": "ge", "layout_options": {"scene": "modle"}})"),
              AllOf(HasSubstr("layout_options.scene: "), HasSubstr("valid: model, overflow"), HasSubstr("Did you mean \"model\"?")));
  EXPECT_THAT(refusal(R"({"layout": "ge", "layout_options": {"stats_columns": "Max,Mean"}})"), HasSubstr("layout_options.stats_columns: "));
  EXPECT_THAT(refusal(R"({"layout": "ge", "layout_options": {"weights": "some"}})"), HasSubstr("layout_options.weights: "));
  EXPECT_THAT(refusal(R"({"layout": "mindspore", "layout_options": {"net_name": "../up"}})"), HasSubstr("layout_options.net_name: "));
}

TEST(CheckTarget, AnExtraFileThatTheLayoutDoesNotWriteIsRefused) {
  EXPECT_THAT(refusal("{\"extras\": {\"graphs\": true}}"), AllOf(StartsWith("cfg.json:1:13: extras.graphs: "), HasSubstr("leave it out")));
  EXPECT_THAT(refusal(R"({"layout": "ge", "extras": {"execution_order": true}})"), HasSubstr("does not write this"));
  EXPECT_THAT(refusal(R"({"layout": "mindspore", "extras": {"topology": true}})"),
              HasSubstr("it writes graphs, execution_order, constants"));
  EXPECT_EQ(refusal(R"({"layout": "mindspore", "extras": {"graphs": true, "constants": true}})"), "");
}

TEST(CheckTarget, AProfileBelongsToALayoutThatHasOne) {
  EXPECT_THAT(refusal(R"({"profile": "mindspore-2.10"})"), HasSubstr("the layout \"tap\" has no profiles"));
  EXPECT_THAT(refusal(R"({"layout": "ge", "profile": "mindspore-2.10"})"), HasSubstr("the layout \"ge\" has no profiles"));
  EXPECT_THAT(refusal(R"({"layout": "mindspore", "profile": "mindspore-0.1"})"), StartsWith("cfg.json:1:25: profile: "));
  EXPECT_EQ(refusal(R"({"layout": "mindspore", "profile": "mindspore-2.10"})"), "");
}

TEST(CheckTarget, ASpecThatLeavesItsLayoutKeepsNothingThatOnlyThatOneUnderstands) {
  CaptureSpec spec;
  spec.layout = "mindspore";
  spec.profile = "mindspore-2.4/cpu";
  spec.layout_options["net_name"] = "Net";
  spec.extras.graphs = spec.extras.execution_order = spec.extras.constants = spec.extras.attributes = true;
  ASSERT_TRUE(check_target(spec).ok()) << check_target(spec).message();
  spec.layout = "ge";
  EXPECT_FALSE(check_target(spec).ok());
  leave_layout(spec);
  EXPECT_TRUE(check_target(spec).ok()) << check_target(spec).message();
  EXPECT_TRUE(spec.extras.attributes) << "every layout takes what is known of an op";
}

TEST(CheckTarget, AnUnknownLayoutIsRefusedWithTheNearest) {
  EXPECT_THAT(refusal(R"({"layout": "mindspor"})"), AllOf(HasSubstr("unknown layout"), HasSubstr("Did you mean \"mindspore\"?")));
}

// What a dialect asks of a layout must be what the layout declares.
TEST(CheckTarget, EveryDialectSetsDeclaredOptionsOnly) {
  EXPECT_EQ(refusal(R"({"dump": {"dump_path": "/tmp", "dump_mode": "all", "dump_list": []}})"), "");
  EXPECT_EQ(refusal(R"({"dump": {"dump_scene": "lite_exception"}})"), "");
  EXPECT_EQ(refusal(R"({"common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "Net", "iteration": "all",
            "saved_data": "full", "input_output": 0, "kernels": [], "support_device": [0]},
            "e2e_dump_settings": {"enable": true, "trans_flag": false}})"),
            "");
}

TEST(CheckTarget, EveryOptionSaysWhatItTakesAndAcceptsItsDefault) {
  for (const Layout& layout : layouts()) {
    for (const LayoutOption& option : layout.options) {
      EXPECT_FALSE(option.values.empty() || option.meaning.empty()) << layout.name << ' ' << option.name;
      if (option.check == nullptr || option.default_value.empty()) continue;
      EXPECT_TRUE(option.check(option.default_value).ok()) << layout.name << ' ' << option.name;
    }
  }
}

}  // namespace
}  // namespace tensortap
