// Chooses which steps of two dumps are compared.

#ifndef TENSORTAP_COMPARE_STEP_PAIRS_H_
#define TENSORTAP_COMPARE_STEP_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

struct StepPair {
  int64_t a = 0;
  int64_t b = 0;
  friend bool operator==(const StepPair&, const StepPair&) = default;
};

// "3:4,7" or "0-4": a step of A and the one of B beside it, or the same in both. Errors: kInvalidArgument.
Result<std::vector<StepPair>> parse_step_pairs(std::string_view text);

// How the steps of two dumps were paired.
struct ChosenSteps {
  std::vector<StepPair> pairs;
  bool by_order = false;  // no number is in both dumps: the first of one is paired with the first of the other, and so on
  bool by_ids = false;    // steps that were given the same token ids
  size_t alone_a = 0;     // steps that are not compared
  size_t alone_b = 0;
  // The steps that are compared; nothing where these are all.
  std::optional<std::set<int64_t>> only_a;
  std::optional<std::set<int64_t>> only_b;
  // There are steps, but no pair of them.
  [[nodiscard]] bool none_beside() const { return pairs.empty() && alone_a + alone_b > 0; }
};

// `asked` are the user's pairs; those whose steps exist are used. Without any, pairs by token ids where numbers do not fit (step_ids.h),
// else equal numbers, else by their order. Reads a few records.
ChosenSteps choose_steps(const DumpIndex& a, const DumpIndex& b, const std::vector<StepPair>& asked);

// The pairs that choose_steps() finds by itself and whose step has the phase in A, or in B where A knows no phases. Errors: kNotFound.
Result<std::vector<StepPair>> step_pairs_of_phase(const DumpIndex& a, const DumpIndex& b, ModelPhase phase);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_STEP_PAIRS_H_
