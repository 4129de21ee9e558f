// CapturePlan: a CaptureSpec bound to the ops of a program. Every mistake a user can make is reported here, before the program runs.

#ifndef TENSORTAP_PLAN_CAPTURE_PLAN_H_
#define TENSORTAP_PLAN_CAPTURE_PLAN_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/other_model.h"
#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/op_decision.h"
#include "trace/op_info.h"

namespace tensortap {

class WhereExpression;

// The environment in which the plan will run, as far as it limits what a spec can ask for.
struct PlanEnvironment {
  std::vector<std::string> layouts;  // that can be written; empty = not checked
  bool before_moment = true;         // whether the source also looks at tensors before an op
  std::vector<std::string> models;   // names by which the model that runs is known: of its file, of its graph; empty = none
  bool kernels = false;              // whether the source reports what an op calls underneath, and calls above ops; otherwise an op is both
  bool modules = false;              // whether the source reports calls of modules and models
};

// Thread-safe after bind(); decide() may be called at any time by one thread at a time (the session's registration lock).
class CapturePlan {
 public:
  // Compiles the spec: regular expressions, the where expression, conflicts, and what this release cannot do yet. Errors: kInvalidArgument
  // naming the origin and, for expressions, the position.
  static Result<std::unique_ptr<CapturePlan>> compile(CaptureSpec spec, const PlanEnvironment& environment = {});
  ~CapturePlan();

  [[nodiscard]] const CaptureSpec& spec() const;
  [[nodiscard]] const WhereExpression* where() const;  // null when there is none

  // Decides for an op that becomes known while the program runs; ranges and producers of inputs cannot be resolved then. Called once for
  // each op, in the order of their ids.
  OpDecision decide(const OpInfo& op);

  // Decides for a whole graph in execution order, ids from 0; called once, instead of decide(). Errors: kInvalidArgument for selectors that
  // match nothing, with the nearest names; for an order range whose ends are unknown or the wrong way round.
  Result<std::vector<OpDecision>> bind(std::span<const OpInfo> ops);

  // Notes made while deciding, for people: "the original node relu_1 runs inside conv_1 (fused); it is captured as that".
  [[nodiscard]] std::span<const std::string> notes() const;
  // Selectors that have matched nothing so far, in the user's words. After bind() they are among the notes, too.
  [[nodiscard]] std::vector<std::string> unmatched() const;
  // The models that selectors without a match are of and that do not run, each once.
  [[nodiscard]] std::vector<OtherModel> other_models() const;

 private:
  CapturePlan();
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// The plan in words, one sentence a line: the captured ops, when and in which form they are captured, the target, the additions of the
// defaults, and the limits with their effects. With decisions (from bind), explain_match() also reports the matching ops, in numbers and
// the first names.
std::vector<std::string> explain(const CaptureSpec& spec);
std::vector<std::string> explain_match(std::span<const OpInfo> ops, std::span<const OpDecision> decisions);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_CAPTURE_PLAN_H_
