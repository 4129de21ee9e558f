// WrittenRows: remembers which rows a file contains, to count those that are lost when another program cuts the file.

#ifndef TENSORTAP_SYSTEM_TAP_WRITTEN_ROWS_H_
#define TENSORTAP_SYSTEM_TAP_WRITTEN_ROWS_H_

#include <cstdint>
#include <vector>

namespace tensortap::tap {

// Thread-compatible.
class WrittenRows {
 public:
  // Rows from number `first` on were written; none of them was there before.
  void add(uint64_t first, uint64_t count);
  // Whether the row was written and is still there.
  [[nodiscard]] bool contains(uint64_t row) const;
  // The file ends before the row `end` now. Returns how many rows are gone.
  uint64_t cut(uint64_t end);

 private:
  struct Run {
    uint64_t begin;
    uint64_t end;
  };
  std::vector<Run> runs_;  // apart from each other, in no order; few, since rows come almost in order
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_WRITTEN_ROWS_H_
