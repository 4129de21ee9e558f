// The offline debugger: watchpoints held against the records of a dump.

#ifndef TENSORTAP_FIND_WATCHPOINTS_H_
#define TENSORTAP_FIND_WATCHPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "find/watch_condition.h"
#include "trace/dump_index.h"

namespace tensortap {

struct WatchHit {
  uint32_t row = 0;
  uint8_t errors = 0;  // WatchError bits; not 0: the thresholds were not looked at
  struct Value {
    std::optional<double> actual;  // nothing if the value is no threshold or was not looked at
    bool hit = false;
  };
  std::vector<Value> values;  // as the watchpoint's
};

struct WatchAnswer {
  uint64_t checked = 0;        // records that the condition was held against
  uint64_t unknown = 0;        // that have neither the statistics nor the data that it needs
  uint64_t hit_count = 0;      // that it holds for
  uint64_t nonfinite = 0;      // of the next, those with NaN or Inf
  uint64_t error_count = 0;    // where NaN, Inf or a missing step before kept it from being looked at
  std::vector<WatchHit> hits;  // the first of each, in the order of steps and of execution
  std::vector<WatchHit> errors;
};

// One answer for each watchpoint, over the outputs, weights and gradients among `rows`, and at most `limit` hits and errors in each. A step
// before is the last one in the dump in which the same slot has a record; it need not be among `rows`. Reads the data of those that their
// statistics do not answer, one record at a time.
std::vector<WatchAnswer> check_watchpoints(const DumpIndex& dump, std::span<const Watchpoint> watchpoints, std::span<const uint32_t> rows,
                                           size_t limit);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_WATCHPOINTS_H_
