#include "source/onnxruntime/run/verification.h"

#include "base/text.h"
#include "source/onnxruntime/taps/executed_kernels.h"

namespace tensortap::onnxruntime {

Result<std::unique_ptr<Verification>> Verification::create(const PreparedModel& model) {
  std::unique_ptr<Verification> verification(new Verification(model));
  TENSORTAP_ASSIGN_OR_RETURN(verification->scratch_, ScratchFolder::create());
  TENSORTAP_ASSIGN_OR_RETURN(verification->plain_, model.open_plain(join_path(verification->scratch_.path(), "plain")));
  return verification;
}

Result<std::string> Verification::first_difference(const std::vector<OwnedValue>& a, const std::vector<OwnedValue>& b) const {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, difference(model_.library()->api(), a[i].get(), b[i].get()));
    if (!text.empty()) return concat("output ", quote(model_.output_names()[i]), ": ", text);
  }
  return std::string();
}

Status Verification::check_outputs(int64_t step, const std::vector<NamedValue>& inputs, const std::vector<OwnedValue>& captured) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto plain, plain_->run(inputs, model_.output_names()));
  if (profiling_) {
    TENSORTAP_ASSIGN_OR_RETURN(plain_profile_, plain_->end_profiling());
    profiling_ = false;
  }
  TENSORTAP_ASSIGN_OR_RETURN(const std::string differs, first_difference(plain, captured));
  if (differs.empty() || !is_deterministic_) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto again, plain_->run(inputs, model_.output_names()));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string itself, first_difference(plain, again));
  if (!itself.empty()) {
    is_deterministic_ = false;
    notes_.push_back(
        concat("the model is not deterministic: two plain runs on the same inputs differ (", itself, "), so bits cannot be compared"));
  } else if (output_difference_.empty()) {
    output_difference_ = concat("step ", step, ", ", differs);
    notes_.push_back(concat("the captured run differs from the plain one: ", output_difference_));
  }
  return {};
}

Status Verification::check_kernels(TapStyle style, const std::vector<NamedValue>& inputs) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto tapped, TappedSession::open(model_, style, join_path(scratch_.path(), "tapped")));
  Run idle;
  const RunOutcome outcome = tapped->run(inputs, idle);
  TENSORTAP_RETURN_IF_ERROR(outcome.status);
  TENSORTAP_ASSIGN_OR_RETURN(const std::string profile, tapped->session().end_profiling());
  TENSORTAP_ASSIGN_OR_RETURN(const KernelCounts plain_counts, read_profile(plain_profile_));
  TENSORTAP_ASSIGN_OR_RETURN(const KernelCounts tapped_counts, read_profile(profile));
  const std::string differs = difference(plain_counts, tapped_counts);
  kernels_equal_ = differs.empty();
  if (!differs.empty()) notes_.push_back(concat("executed nodes differ: ", differs));
  return {};
}

}  // namespace tensortap::onnxruntime
