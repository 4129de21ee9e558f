// What the conditions of watchpoints look at in one record: from its statistics where they say it, or else from its data.

#ifndef TENSORTAP_FIND_WATCH_VALUES_H_
#define TENSORTAP_FIND_WATCH_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "find/watch_condition.h"
#include "trace/dump_index.h"

namespace tensortap {

// Of one record, which a dump that outlives this has. Reads the data in blocks, once for each thing that only the data says. Not
// thread-safe.
class WatchValues {
 public:
  WatchValues(const DumpIndex& dump, size_t row) : dump_(dump), row_(row) {}

  // The WatchError bits for NaN and Inf; nothing when neither statistics nor data say it.
  std::optional<uint8_t> nonfinite();
  // The same by counts of all elements alone: extremes of finite values are finite, whatever is beside them.
  std::optional<uint8_t> counted_nonfinite();
  // The value of this quantity. `previous` is the record of a step before, for kUpdateRatio. Nothing when the value is unknown. The tensor
  // must hold no NaN or Inf.
  std::optional<double> quantity(WatchQuantity quantity, const Watchpoint& watchpoint, std::optional<size_t> previous);
  // Whether every element is within atol + rtol * |before| of what it was.
  std::optional<bool> is_unchanged(const Watchpoint& watchpoint, size_t previous);

 private:
  [[nodiscard]] std::optional<TensorStats> stats(uint32_t wanted) const;
  [[nodiscard]] std::optional<double> abs_mean() const;
  [[nodiscard]] std::optional<double> range_percentage(double start, double end) const;
  [[nodiscard]] std::optional<double> update_ratio(size_t previous, double epsilon) const;

  const DumpIndex& dump_;
  size_t row_;
  std::optional<std::optional<double>> abs_mean_;  // once it was asked for
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_WATCH_VALUES_H_
