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
inline constexpr std::string_view kReasonNoTensor = "ran without a tensor that was asked for";
inline constexpr std::string_view kReasonFailed = "failed";
inline constexpr const char* kReasonMeta = "meta tensor";
inline constexpr const char* kReasonZero = "zero tensor of autograd";
inline constexpr const char* kReasonView = "conjugate or negative view";
inline constexpr std::string_view kReasonFused = "kernels fused by torch.compile; exec --compile captures ops";
inline constexpr std::string_view kReasonForked = "operators of processes made by fork, which do not go on with the capture";
inline constexpr std::string_view kReasonReplayed = "replays of a graph of the device, which run no operator";

// Forms of tensors that are not looked into, in "not_captured" and "partly".
inline constexpr const char* kReasonSparse = "sparse tensor";
inline constexpr const char* kReasonNested = "nested tensor";
inline constexpr const char* kReasonLibraryLayout = "tensor in the library's own layout";
inline constexpr const char* kReasonScattered = "float4 tensor that is not contiguous";

// Whether values of an op are unknown for this reason, which no other record shows.
inline bool hides_values(std::string_view reason) {
  return reason == kReasonSparse || reason == kReasonNested || reason == kReasonLibraryLayout || reason == kReasonScattered;
}

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

// Whether such an op had values that the capture did not look at. A meta tensor has none; those of a view belong to another tensor.
inline bool had_values(std::string_view reason) {
  constexpr std::string_view kOthers[] = {kReasonNoTensor, kReasonFailed, kReasonMeta, kReasonZero, kReasonView};
  return ran_unseen(reason) && std::ranges::find(kOthers, reason) == std::end(kOthers);
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_COVERAGE_REASONS_H_
