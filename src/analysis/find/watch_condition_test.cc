#include "find/watch_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<std::vector<Watchpoint>> parse(const std::string& text) { return parse_watchpoints(std::vector<std::string>{text}); }

std::vector<std::pair<std::string_view, double>> values_of(const std::string& text) {
  const auto watchpoints = parse(text);
  EXPECT_TRUE(watchpoints.ok()) << watchpoints.status().message();
  std::vector<std::pair<std::string_view, double>> values;
  for (const auto& [parameter, value] : watchpoints->front().values) values.emplace_back(parameter->name, value);
  return values;
}

// M25
TEST(WatchCondition, ReadsNamesAbbreviationsAndParameters) {
  EXPECT_THAT(values_of("tensor_too_large:mean_gt=0.1, max_gt = 1"), ElementsAre(Pair("max_gt", 1), Pair("mean_gt", 0.1)));
  EXPECT_EQ(parse("TZ")->front().condition->name, "tensor_all_zero");
  EXPECT_THAT(values_of("TO"), ElementsAre());
  EXPECT_THAT(values_of("weight_not_changed:equal_nan=true"), ElementsAre(Pair("rtol", 1e-5), Pair("atol", 1e-8), Pair("equal_nan", 1)));
}

TEST(WatchCondition, UsualThresholdsApplyWhereNoneIsGiven) {
  EXPECT_THAT(values_of("weight_initialization"), ElementsAre(Pair("zero_percentage_ge", 100)));
  EXPECT_THAT(values_of("weight_initialization:max_gt=3"), ElementsAre(Pair("max_gt", 3)));
  EXPECT_THAT(values_of("WCL"), ElementsAre(Pair("abs_mean_update_ratio_gt", 0.1), Pair("epsilon", 1e-9)));
  EXPECT_THAT(values_of("WCS:epsilon=0.5"), ElementsAre(Pair("abs_mean_update_ratio_lt", 1e-4), Pair("epsilon", 0.5)));
}

// The names, abbreviations and parameters of MindInsight's conditionmgr/condition_list.py; the other three are those of weights for every
// tensor.
TEST(WatchCondition, AreThoseOfMindInsight) {
  std::set<std::string_view> names;
  std::set<std::string_view> abbreviations;
  for (const WatchCondition& condition : watch_conditions()) {
    names.insert(condition.name);
    abbreviations.insert(condition.abbreviation);
  }
  for (const char* name : {"weight_initialization", "weight_overflow", "weight_too_large", "weight_too_small", "gradient_vanishing",
                           "gradient_too_large", "gradient_exploding", "tensor_overflow", "operator_overflow", "tensor_initialization",
                           "tensor_too_large", "tensor_too_small", "tensor_all_zero", "weight_not_changed", "weight_change_too_large",
                           "weight_change_too_small", "activation_range", "tensor_range"}) {
    EXPECT_EQ(names.erase(name), 1U) << name;
  }
  EXPECT_THAT(names, ElementsAre("tensor_change_too_large", "tensor_change_too_small", "tensor_not_changed"));
  EXPECT_EQ(abbreviations.size(), watch_conditions().size());
}

TEST(WatchCondition, MistakesAreSaidInOneSentenceWithWhatIsPossible) {
  const std::pair<const char*, const char*> rows[] = {
      {"tensor_to_large", "\"tensor_to_large\" is no condition; did you mean tensor_too_large (abs_mean_gt, max_gt, min_gt, mean_gt)?"},
      {"tensor_too_large:max_lt=3", "tensor_too_large has no parameter \"max_lt\"; it has abs_mean_gt, max_gt, min_gt, mean_gt"},
      {"tensor_too_large",
       "tensor_too_large needs one or more of abs_mean_gt, max_gt, min_gt, mean_gt, as in tensor_too_large:abs_mean_gt=1"},
      {"tensor_too_large:max_gt", "tensor_too_large: write max_gt=NUMBER"},
      {"tensor_too_large:max_gt=x", "tensor_too_large: max_gt is a finite number, not \"x\""},
      {"tensor_too_large:max_gt=inf", "tensor_too_large: max_gt is a finite number, not \"inf\""},
      {"tensor_too_large:max_gt=nan", "tensor_too_large: max_gt is a finite number, not \"nan\""},
      {"tensor_too_large:abs_mean_gt=-1", "tensor_too_large: abs_mean_gt is a finite number of 0 or more, not \"-1\""},
      {"TZ:zero_percentage_ge=101", "tensor_all_zero: zero_percentage_ge is a finite number from 0 to 100, not \"101\""},
      {"TL:max_gt=1,max_gt=2", "tensor_too_large: max_gt is given twice"},
      {"TO:max_gt=1", "tensor_overflow has no parameter \"max_gt\"; it has no parameters"},
      {"tensor_range:range_percentage_lt=5,range_end_inclusive=1",
       "tensor_range: a range_percentage needs range_start_inclusive and range_end_inclusive"},
  };
  for (const auto& [text, message] : rows) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(parsed.status().message(), message);
  }
  EXPECT_THAT(parse("q").status().message(), HasSubstr("tensor_all_zero"));
}

TEST(WatchCondition, RecommendedIsTheSetOfMindInsight) {
  const auto all = parse("recommended");
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), 11U);
  const Watchpoint& tanh = (*all)[8];
  EXPECT_EQ(tanh.activation, "tanh");
  EXPECT_DOUBLE_EQ(*tanh.value_of("range_start_inclusive"), -0.9999999545590812);
  EXPECT_LT(*(*all)[9].value_of("range_start_inclusive"), *(*all)[9].value_of("range_end_inclusive"));
}

}  // namespace
}  // namespace tensortap
