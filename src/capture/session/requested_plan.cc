#include "session/requested_plan.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {

Result<std::unique_ptr<RequestedPlan>> RequestedPlan::compile(CaptureSpec spec, const PlanEnvironment& environment) {
  TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<CapturePlan> plan, CapturePlan::compile(std::move(spec), environment));
  return std::unique_ptr<RequestedPlan>(new RequestedPlan(std::move(plan), environment));
}

CaptureSpec RequestedPlan::widened(CaptureSpec spec) {
  spec.include.clear();
  spec.exclude.clear();
  spec.devices.clear();
  spec.steps = StepSet::all();
  // Which level an op has is for the engine to say.
  for (const Level level : {Level::kOp, Level::kKernel, Level::kModule}) {
    if (std::ranges::find(spec.levels, level_name(level)) == spec.levels.end()) spec.levels.emplace_back(level_name(level));
  }
  return spec;
}

bool RequestedPlan::selects(const Question::Operation& operation) {
  const auto [answer, is_new] = answers_.try_emplace({operation.id, operation.type}, false);
  if (!is_new) return answer->second;
  const std::vector<std::string>& levels = plan_->spec().levels;
  OpInfo op;
  op.name = concat(operation.type, "_", operation.id);
  op.type = operation.type;
  op.id = operation.id;
  op.level = std::ranges::find(levels, level_name(Level::kModule)) == levels.end() ? Level::kOp : Level::kModule;
  const bool selected = plan_->decide(op).wanted;
  answer->second = selected;
  // Names that never come again are no reason to grow without end.
  if (answers_.size() > kMostAnswers) answers_.clear();
  return selected;
}

bool RequestedPlan::would_keep(const Question& question) {
  const std::lock_guard lock(mutex_);
  const CaptureSpec& spec = plan_->spec();
  if (spec.steps.is_never()) return false;
  if (question.step && !spec.steps.contains(*question.step + spec.first_step)) return false;
  if (question.device && !spec.devices.empty()) {
    const bool known = *question.device >= 0;
    if (!known || std::ranges::find(spec.devices, static_cast<uint64_t>(*question.device)) == spec.devices.end()) return false;
  }
  return !question.operation || selects(*question.operation);
}

Status RequestedPlan::replace(CaptureSpec spec) {
  TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<CapturePlan> plan, CapturePlan::compile(std::move(spec), environment_));
  const std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
  answers_.clear();
  return {};
}

void RequestedPlan::describe(Json& manifest) const {
  const std::lock_guard lock(mutex_);
  manifest["plan"] = explain(plan_->spec());
  for (const std::string& note : plan_->notes()) manifest["notes"].push_back(note);
  manifest["unmatched"] = plan_->unmatched();
  manifest["other_models"] = Json::array();
  for (const OtherModel& other : plan_->other_models()) manifest["other_models"].push_back(other_model_json(other));
}

}  // namespace tensortap
