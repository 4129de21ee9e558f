// The first NaN or Inf that a capture met, followed as it goes.

#ifndef TENSORTAP_SESSION_FIRST_NONFINITE_H_
#define TENSORTAP_SESSION_FIRST_NONFINITE_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/json_fwd.h"
#include "session/op_table.h"
#include "trace/record_row.h"

namespace tensortap {

// Thread-safe.
class FirstNonFinite {
 public:
  // Looks at a measured row. Infinities in weights do not count: masks are made of them; nor do any that `infinities_count` says are no
  // news.
  void look(const RecordRow& row, bool infinities_count) {
    if (row.stats.nan + row.stats.pos_inf + row.stats.neg_inf == 0) return;
    if (!infinities_count && row.stats.nan == 0) return;
    if (row.sequence >= sequence_.load(std::memory_order_relaxed)) return;
    note(row);
  }
  // Whether one was met; later ones are then no news.
  [[nodiscard]] bool met() const { return sequence_.load(std::memory_order_relaxed) != UINT64_MAX; }
  // {"step", "op", "type", "slot", "nan", "pos_inf", "neg_inf", "index", "source"}, or null when there was none.
  [[nodiscard]] Json to_json(const OpTable& ops) const;

 private:
  void note(const RecordRow& row);

  std::atomic<uint64_t> sequence_{UINT64_MAX};
  mutable std::mutex mutex_;
  RecordRow row_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_FIRST_NONFINITE_H_
