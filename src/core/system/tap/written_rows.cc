#include "system/tap/written_rows.h"

#include <algorithm>

namespace tensortap::tap {

void WrittenRows::add(uint64_t first, uint64_t count) {
  Run added{first, first + count};
  std::erase_if(runs_, [&added](const Run& run) {
    if (run.end != added.begin && run.begin != added.end) return false;
    added = {std::min(run.begin, added.begin), std::max(run.end, added.end)};
    return true;
  });
  runs_.push_back(added);
}

bool WrittenRows::contains(uint64_t row) const {
  return std::ranges::any_of(runs_, [row](const Run& run) { return run.begin <= row && row < run.end; });
}

uint64_t WrittenRows::cut(uint64_t end) {
  uint64_t gone = 0;
  std::erase_if(runs_, [end, &gone](Run& run) {
    const uint64_t kept = std::clamp(end, run.begin, run.end);
    gone += run.end - kept;
    run.end = kept;
    return run.begin == run.end;
  });
  return gone;
}

}  // namespace tensortap::tap
