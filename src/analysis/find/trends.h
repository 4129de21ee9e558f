// What the values of a dump do over its steps: what grows, shrinks, dies, stops or leaps. From the statistics of the rows alone.

#ifndef TENSORTAP_FIND_TRENDS_H_
#define TENSORTAP_FIND_TRENDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "find/gradient_depth.h"
#include "find/step_series.h"
#include "trace/dump_index.h"

namespace tensortap {

inline constexpr size_t kLeastSteps = 8;   // of a line, of what is dead or frozen, and around a spike
inline constexpr size_t kLeastJudged = 4;  // below that, a series is not judged

enum class TrendKind : uint8_t {
  kExploding,  // grows faster and farther than training makes values grow (last_slope.h)
  kSpike,      // of one step: far above the steps around it
  kVanishing,  // a gradient that shrinks as fast while other gradients do not
  kDead,       // zeros, 99 % of it or more, in the last steps
  kFrozen,     // does not change any more, or a parameter that training never changed
};
std::string_view trend_name(TrendKind kind);  // "exploding", ...

enum class Measure : uint8_t { kRms, kAbsMax, kZeroShare, kContent };
std::string_view measure_name(Measure measure);  // "rms", "absmax", "zero_share", "content"

struct Trend {
  TrendKind kind = TrendKind::kExploding;
  Measure measure = Measure::kRms;
  uint32_t row = 0;    // the last record of it; of a spike the spike
  int64_t since = 0;   // the first step of it
  int64_t step = 0;    // its last step
  uint64_t steps = 0;  // with records, from `since` to `step`
  double slope = 0;    // doublings a step; 0 for kinds without
  // The measure, at first: the median of the first quarter; of a spike that of the steps around it; of kDead the least before.
  double from = 0;
  double to = 0;                         // the measure, at last
  double evidence = 0;                   // doublings for kinds with a slope and spikes, steps for the others
  std::optional<double> steps_to_limit;  // until absmax reaches the largest value of the type, if it goes on; where that is known
};

struct TrendReport {
  uint64_t steps = 0;         // of the dump that were looked at
  uint64_t series = 0;        // one for each (op, slot, phase, rank)
  uint64_t judged = 0;        // those with enough steps that have statistics
  uint64_t unknown = 0;       // those with enough steps, of which too few have statistics
  uint64_t nonfinite = 0;     // of those, series that end with NaN or Inf
  uint64_t harmless = 0;      // of these, series whose NaN or Inf is harmless or intended, by find_nonfinite()
  std::vector<Trend> trends;  // by kind, the strongest first
  std::optional<GradientDepth> depth;
};

// `last`: looks only at that many last steps of the dump; 0 = all. Linear in the records, except for sorting them; keeps 32 bytes for each.
TrendReport find_trends(const DumpIndex& dump, uint64_t last = 0);

// The rise or fall with which the finite points end, if there is one: of absmax, otherwise of rms; 8 times or more, steadily.
std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_TRENDS_H_
