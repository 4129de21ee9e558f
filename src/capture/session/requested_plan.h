// RequestedPlan: the selection of a session whose engine asks before it reports (TENSORTAP_SESSION_ASKS).

#ifndef TENSORTAP_SESSION_REQUESTED_PLAN_H_
#define TENSORTAP_SESSION_REQUESTED_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_fwd.h"
#include "base/status.h"
#include "plan/capture_plan.h"

namespace tensortap {

// Members that do not matter for the question are empty.
struct Question {
  struct Operation {
    std::string id;
    std::string type;
  };
  std::optional<Operation> operation;
  std::optional<int64_t> step;
  std::optional<int32_t> device;
};

// The session's own plan is widened(): it keeps what is reported. What was asked for in the config decides here. Thread-safe.
class RequestedPlan {
 public:
  // Errors: as CapturePlan::compile().
  static Result<std::unique_ptr<RequestedPlan>> compile(CaptureSpec spec, const PlanEnvironment& environment);
  // The spec without its selection of ops, steps and devices.
  static CaptureSpec widened(CaptureSpec spec);

  // The spec that opened the session.
  [[nodiscard]] const CaptureSpec& opened() const { return opened_; }
  bool would_keep(const Question& question);
  // Selects by `spec` from now on. Errors: as CapturePlan::compile(); nothing changes then.
  Status replace(CaptureSpec spec);
  // Puts what was asked for into run.json's members "plan", "notes", "unmatched" and "other_models".
  void describe(Json& manifest) const;

 private:
  static constexpr size_t kMostAnswers = 1'000'000;

  RequestedPlan(std::unique_ptr<CapturePlan> plan, PlanEnvironment environment)
      : environment_(std::move(environment)), opened_(plan->spec()), plan_(std::move(plan)) {}
  bool selects(const Question::Operation& operation);

  const PlanEnvironment environment_;
  const CaptureSpec opened_;
  mutable std::mutex mutex_;  // of what follows
  std::unique_ptr<CapturePlan> plan_;
  std::map<std::pair<std::string, std::string>, bool> answers_;  // a plan decides once for each op
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_REQUESTED_PLAN_H_
