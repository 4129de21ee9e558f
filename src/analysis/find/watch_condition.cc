#include "find/watch_condition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace tensortap {
namespace {

using enum WatchQuantity;
using enum WatchComparison;

constexpr double kLargest = std::numeric_limits<double>::max();

constexpr WatchParameter any(std::string_view name, WatchQuantity quantity, WatchComparison comparison) {
  return {name, quantity, comparison, -kLargest, kLargest};
}
constexpr WatchParameter positive(std::string_view name, WatchQuantity quantity, WatchComparison comparison,
                                  std::optional<double> usual = {}) {
  return {name, quantity, comparison, 0, kLargest, usual};
}
constexpr WatchParameter percentage(std::string_view name, WatchQuantity quantity, WatchComparison comparison,
                                    std::optional<double> usual = {}) {
  return {name, quantity, comparison, 0, 100, usual};
}

constexpr WatchParameter kInitial[] = {percentage("zero_percentage_ge", kZeroPercentage, kAtLeast, 100), any("max_gt", kMax, kAbove),
                                       any("min_lt", kMin, kBelow)};
constexpr WatchParameter kLarge[] = {positive("abs_mean_gt", kAbsMean, kAbove), any("max_gt", kMax, kAbove), any("min_gt", kMin, kAbove),
                                     any("mean_gt", kMean, kAbove)};
constexpr WatchParameter kSmall[] = {positive("abs_mean_lt", kAbsMean, kBelow), any("max_lt", kMax, kBelow), any("min_lt", kMin, kBelow),
                                     any("mean_lt", kMean, kBelow)};
constexpr WatchParameter kZeros[] = {percentage("zero_percentage_ge", kZeroPercentage, kAtLeast, 100)};
constexpr WatchParameter kMuchChange[] = {positive("abs_mean_update_ratio_gt", kUpdateRatio, kAbove, 0.1),
                                          positive("epsilon", kNone, kSupport, 1e-9)};
constexpr WatchParameter kLittleChange[] = {positive("abs_mean_update_ratio_lt", kUpdateRatio, kBelow, 1e-4),
                                            positive("epsilon", kNone, kSupport, 1e-9)};
constexpr WatchParameter kTolerances[] = {
    positive("rtol", kNone, kSupport, 1e-5), positive("atol", kNone, kSupport, 1e-8), {"equal_nan", kNone, kSupport, 0, 1, 0}};
constexpr WatchParameter kRange[] = {any("range_start_inclusive", kNone, kSupport),
                                     any("range_end_inclusive", kNone, kSupport),
                                     percentage("range_percentage_lt", kRangePercentage, kBelow),
                                     percentage("range_percentage_gt", kRangePercentage, kAbove),
                                     any("max_min_lt", kMaxMin, kBelow),
                                     any("max_min_gt", kMaxMin, kAbove)};

using enum WatchTarget;
using enum WatchRule;
constexpr WatchCondition kConditions[] = {
    {"tensor_overflow", "TO", kTensor, kOverflow, {}},
    {"weight_overflow", "WO", kWeight, kOverflow, {}},
    {"gradient_exploding", "GE", kGradient, kOverflow, {}},
    {"operator_overflow", "OO", kTensor, kOperatorOverflow, {}},
    {"tensor_initialization", "TI", kTensor, kInitialization, kInitial},
    {"weight_initialization", "WI", kWeight, kInitialization, kInitial},
    {"tensor_too_large", "TL", kTensor, kThresholds, kLarge},
    {"weight_too_large", "WL", kWeight, kThresholds, kLarge},
    {"gradient_too_large", "GL", kGradient, kThresholds, kLarge},
    {"tensor_too_small", "TS", kTensor, kThresholds, kSmall},
    {"weight_too_small", "WS", kWeight, kThresholds, kSmall},
    {"gradient_vanishing", "GV", kGradient, kThresholds, kSmall},
    {"tensor_all_zero", "TZ", kTensor, kThresholds, kZeros},
    {"tensor_change_too_large", "TCL", kTensor, kThresholds, kMuchChange},
    {"weight_change_too_large", "WCL", kWeight, kThresholds, kMuchChange},
    {"tensor_change_too_small", "TCS", kTensor, kThresholds, kLittleChange},
    {"weight_change_too_small", "WCS", kWeight, kThresholds, kLittleChange},
    {"tensor_not_changed", "TNC", kTensor, kUnchanged, kTolerances},
    {"weight_not_changed", "WNC", kWeight, kUnchanged, kTolerances},
    {"tensor_range", "TR", kTensor, kThresholds, kRange},
    {"activation_range", "AR", kActivation, kThresholds, kRange},
};

bool is_threshold(const WatchParameter& parameter) { return parameter.comparison != kSupport; }

std::string names_of(std::span<const WatchParameter> parameters) {
  std::vector<std::string> names;
  for (const WatchParameter& parameter : parameters) names.emplace_back(parameter.name);
  return names.empty() ? "no parameters" : join(names, ", ");
}

Result<const WatchCondition*> find_condition(std::string_view name) {
  std::vector<std::string> names;
  for (const WatchCondition& condition : kConditions) {
    if (name == condition.name || name == condition.abbreviation) return &condition;
    names.emplace_back(condition.name);
  }
  const std::vector<std::string> near = nearest(name, names, 1);
  if (near.empty()) return invalid_argument(concat(quote(name), " is no condition; there are ", join(names, ", "), " and recommended"));
  const auto best = std::ranges::find(kConditions, std::string_view(near.front()), &WatchCondition::name);
  return invalid_argument(concat(quote(name), " is no condition; did you mean ", near.front(), " (", names_of(best->parameters), ")?"));
}

Result<double> parse_value(const WatchCondition& condition, const WatchParameter& parameter, std::string_view text) {
  double value = 0;
  if (parameter.name == "equal_nan" && (text == "true" || text == "false")) return text == "true" ? 1.0 : 0.0;
  const bool fits = parse_number(text, value) && value >= parameter.least && value <= parameter.most;
  if (fits) return value;
  const std::string bounds = parameter.least < 0      ? ""
                             : parameter.most < 1e300 ? concat(" from ", parameter.least, " to ", parameter.most)
                                                      : " of 0 or more";
  return invalid_argument(concat(condition.name, ": ", parameter.name, " is a finite number", bounds, ", not ", quote(text)));
}

// Fills in what is usual and checks what needs what.
Status complete(Watchpoint& watchpoint) {
  const WatchCondition& condition = *watchpoint.condition;
  const bool any_threshold = std::ranges::any_of(watchpoint.values, [](const auto& value) { return is_threshold(*value.parameter); });
  std::vector<Watchpoint::Value> all;
  for (const WatchParameter& parameter : condition.parameters) {
    const std::optional<double> given = watchpoint.value_of(parameter.name);
    const bool filled = parameter.usual && !(is_threshold(parameter) && any_threshold);
    if (given || filled) all.push_back({&parameter, given ? *given : *parameter.usual});
  }
  watchpoint.values = std::move(all);
  std::vector<std::string> thresholds;
  for (const WatchParameter& parameter : condition.parameters) {
    if (is_threshold(parameter)) thresholds.emplace_back(parameter.name);
  }
  const bool has_one = std::ranges::any_of(watchpoint.values, [](const auto& value) { return is_threshold(*value.parameter); });
  if (!thresholds.empty() && !has_one) {
    return invalid_argument(concat(condition.name, " needs one or more of ", join(thresholds, ", "), ", as in ", condition.name, ":",
                                   thresholds.front(), "=1"));
  }
  const bool ranged = watchpoint.value_of("range_start_inclusive") && watchpoint.value_of("range_end_inclusive");
  if (watchpoint.looks_at(kRangePercentage) && !ranged) {
    return invalid_argument(concat(condition.name, ": a range_percentage needs range_start_inclusive and range_end_inclusive"));
  }
  return {};
}

Result<Watchpoint> parse_watchpoint(std::string_view text) {
  const size_t colon = text.find(':');
  TENSORTAP_ASSIGN_OR_RETURN(const WatchCondition* condition, find_condition(trim(text.substr(0, colon))));
  Watchpoint watchpoint{condition, {}};
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  for (const std::string_view word : rest.empty() ? std::vector<std::string_view>() : split(rest, ',')) {
    const size_t equals = word.find('=');
    const std::string_view name = trim(word.substr(0, equals));
    const auto parameter = std::ranges::find(condition->parameters, name, &WatchParameter::name);
    if (parameter == condition->parameters.end()) {
      return invalid_argument(concat(condition->name, " has no parameter ", quote(name), "; it has ", names_of(condition->parameters)));
    }
    if (equals == std::string_view::npos) return invalid_argument(concat(condition->name, ": write ", name, "=NUMBER"));
    if (watchpoint.value_of(name)) return invalid_argument(concat(condition->name, ": ", name, " is given twice"));
    TENSORTAP_ASSIGN_OR_RETURN(const double value, parse_value(*condition, *parameter, trim(word.substr(equals + 1))));
    watchpoint.values.push_back({&*parameter, value});
  }
  TENSORTAP_RETURN_IF_ERROR(complete(watchpoint));
  return watchpoint;
}

// The ranges are where an activation is not saturated: tanh(8.8) and sigmoid(16.2) round to 1 as 32-bit numbers.
Result<std::vector<Watchpoint>> recommended() {
  const auto range = [](double start, double end, std::string_view percentage) {
    return concat("activation_range:range_start_inclusive=", start, ",range_end_inclusive=", end, ",", percentage);
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::pair<std::string, std::string_view> texts[] = {
      {"tensor_all_zero:zero_percentage_ge=100", ""},
      {"tensor_overflow", ""},
      {"operator_overflow", ""},
      {"gradient_vanishing:abs_mean_lt=1e-9", ""},
      {"weight_change_too_small:abs_mean_update_ratio_lt=1e-4", ""},
      {"weight_not_changed", ""},
      {"weight_change_too_large:abs_mean_update_ratio_gt=1", ""},
      {"weight_initialization:zero_percentage_ge=100", ""},
      {range(std::tanh(-8.8), std::tanh(8.8), "range_percentage_lt=0.1"), "tanh"},
      {range(sigmoid(-16.2), sigmoid(16.2), "range_percentage_lt=0.1"), "sigmoid"},
      {range(-1, 0, "range_percentage_gt=99.9"), "relu"},
  };
  std::vector<Watchpoint> all;
  for (const auto& [text, activation] : texts) {
    TENSORTAP_ASSIGN_OR_RETURN(Watchpoint watchpoint, parse_watchpoint(text));
    watchpoint.activation = activation;
    all.push_back(std::move(watchpoint));
  }
  return all;
}

}  // namespace

std::string_view watch_target_name(WatchTarget target) {
  constexpr std::string_view kNames[] = {"tensor", "weight", "gradient", "activation"};
  return kNames[static_cast<size_t>(target)];
}

std::span<const WatchCondition> watch_conditions() { return kConditions; }

std::optional<double> Watchpoint::value_of(std::string_view name) const {
  const auto found = std::ranges::find(values, name, [](const Value& value) { return value.parameter->name; });
  return found == values.end() ? std::nullopt : std::optional(found->value);
}

bool Watchpoint::looks_at(WatchQuantity quantity) const {
  return std::ranges::any_of(values, [&](const Value& value) { return value.parameter->quantity == quantity; });
}

bool Watchpoint::needs_previous() const { return condition->rule == WatchRule::kUnchanged || looks_at(WatchQuantity::kUpdateRatio); }

Result<std::vector<Watchpoint>> parse_watchpoints(std::span<const std::string> texts) {
  std::vector<Watchpoint> all;
  for (const std::string& text : texts) {
    if (text == "recommended") {
      TENSORTAP_ASSIGN_OR_RETURN(std::vector<Watchpoint> more, recommended());
      for (Watchpoint& one : more) all.push_back(std::move(one));
    } else {
      TENSORTAP_ASSIGN_OR_RETURN(Watchpoint one, parse_watchpoint(text));
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace tensortap
