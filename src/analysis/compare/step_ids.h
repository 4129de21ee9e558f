// Which steps of two programs were given the same token ids.

#ifndef TENSORTAP_COMPARE_STEP_IDS_H_
#define TENSORTAP_COMPARE_STEP_IDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/step_pairs.h"
#include "trace/dump_index.h"

namespace tensortap {

// What the first lookup of a step read: the first op that reads whole numbers and returns a row of real numbers for each, as an embedding.
struct StepIds {
  uint64_t hash = 0;
  uint64_t count = 0;
  friend bool operator==(const StepIds&, const StepIds&) = default;
};

// By step; steps without a lookup, or whose ids have no data, are left out. Empty for trainings. One pass over the records, and one read a
// step.
std::map<int64_t, StepIds> step_ids(const DumpIndex& dump);

// The pairs of steps with equal ids, in the order of both programs. Nothing where equal step numbers fit about as well, as in most
// programs, or where ids do not decide.
std::optional<std::vector<StepPair>> steps_by_ids(const DumpIndex& a, const DumpIndex& b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_STEP_IDS_H_
