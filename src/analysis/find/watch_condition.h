// The conditions of an offline debugger's watchpoints, by the names of MindInsight's, and how they are written on the command line.

#ifndef TENSORTAP_FIND_WATCH_CONDITION_H_
#define TENSORTAP_FIND_WATCH_CONDITION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

enum class WatchTarget : uint8_t { kTensor, kWeight, kGradient, kActivation };
std::string_view watch_target_name(WatchTarget target);  // "tensor", ...

// What a condition looks at besides the quantities of its parameters.
enum class WatchRule : uint8_t {
  kThresholds,        // nothing
  kOverflow,          // NaN and Inf
  kOperatorOverflow,  // the op that made them
  kInitialization,    // thresholds, in step 0
  kUnchanged,         // the step before, by rtol, atol and equal_nan
};

enum class WatchQuantity : uint8_t { kNone, kMax, kMin, kMean, kAbsMean, kZeroPercentage, kRangePercentage, kMaxMin, kUpdateRatio };
enum class WatchComparison : uint8_t { kSupport, kAbove, kBelow, kAtLeast };

struct WatchParameter {
  std::string_view name;  // "max_gt"
  WatchQuantity quantity = WatchQuantity::kNone;
  WatchComparison comparison = WatchComparison::kSupport;  // kSupport: no threshold, but what one needs
  double least = 0;                                        // values allowed
  double most = 0;
  std::optional<double> usual = {};  // where none is given; of a threshold: where none of the condition's is
};

struct WatchCondition {
  std::string_view name;          // "tensor_too_large"
  std::string_view abbreviation;  // "TL"
  WatchTarget target;
  WatchRule rule;
  std::span<const WatchParameter> parameters;
};

// Every condition. Constant data.
std::span<const WatchCondition> watch_conditions();

// A condition with values for its parameters.
struct Watchpoint {
  struct Value {
    const WatchParameter* parameter;
    double value;
  };
  const WatchCondition* condition = nullptr;
  std::vector<Value> values;    // in the order of the condition's parameters
  std::string activation = {};  // only ops of this type, as plain_type() writes it; "" = all of the target

  // The value of the parameter with this name; nothing when the watchpoint does not have it.
  [[nodiscard]] std::optional<double> value_of(std::string_view name) const;
  [[nodiscard]] bool looks_at(WatchQuantity quantity) const;
  // Whether it compares with the step before.
  [[nodiscard]] bool needs_previous() const;
};

// Why the thresholds of a watchpoint were not looked at: bits, as MindInsight numbers them.
enum WatchError : uint8_t {
  kWatchNaN = 1U << 0,         // the tensor holds NaN
  kWatchInf = 1U << 1,         // it holds Inf
  kWatchNoPrevious = 1U << 2,  // there is no record of a step before, of as many elements
};

// "tensor_too_large:max_gt=1,mean_gt=0.1", "TZ"; "recommended" for the set that MindInsight proposes. Errors: kInvalidArgument in one
// sentence with the nearest name and the possible parameters.
Result<std::vector<Watchpoint>> parse_watchpoints(std::span<const std::string> texts);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_WATCH_CONDITION_H_
