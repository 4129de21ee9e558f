// Why no record of an op is in a dump: the reasons of run.json's "ops", "not_captured", that say that nothing ran unseen.

#ifndef TENSORTAP_BASE_COVERAGE_REASONS_H_
#define TENSORTAP_BASE_COVERAGE_REASONS_H_

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tensortap {

inline constexpr std::string_view kReasonNoStep = "not run in any step that was asked for";
inline constexpr std::string_view kReasonNoCapturedStep = "not run in any captured step";
inline constexpr std::string_view kReasonNeverRan = "never ran";
inline constexpr std::string_view kReasonNeverRequested = "never requested";
inline constexpr std::string_view kReasonOtherSteps = "ran only in steps that were not captured";
inline constexpr std::string_view kReasonInsideCompiled = "module inside of a compiled function: its operators are captured";
inline constexpr std::string_view kReasonFused = "kernels fused by torch.compile; exec --compile captures ops";

// The reason in "partly", for an op that has other records.
inline constexpr std::string_view kReasonRecordLost = "a record was lost (see losses)";
// The member of run.json that counts records which were measured and then left out by `where` or the overflow trigger.
inline constexpr const char* kLeftOutByCondition = "records_left_out_by_condition";

// Whether an op that is not captured for this reason ran where it should have been captured.
inline bool ran_unseen(std::string_view reason) {
  constexpr std::string_view kOthers[] = {kReasonNoStep,         kReasonNoCapturedStep, kReasonNeverRan,
                                          kReasonNeverRequested, kReasonOtherSteps,     kReasonInsideCompiled};
  return std::ranges::find(kOthers, reason) == std::end(kOthers);
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_COVERAGE_REASONS_H_
