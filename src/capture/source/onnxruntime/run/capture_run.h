// One call of tensortap_onnxruntime_run(): loads, captures, verifies, measures, reports.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CAPTURE_RUN_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CAPTURE_RUN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "source/onnxruntime/run/overhead.h"
#include "source/onnxruntime/run/run_inputs.h"
#include "source/onnxruntime/run/run_request.h"
#include "source/onnxruntime/run/session_calls.h"
#include "source/onnxruntime/run/verification.h"
#include "source/onnxruntime/runtime/run_callbacks.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "source/onnxruntime/taps/event_sender.h"
#include "source/onnxruntime/taps/plain_twin.h"

namespace tensortap::onnxruntime {

// Used once, by one thread.
class CaptureRun {
 public:
  CaptureRun(RunRequest request, const tensortap_onnxruntime_run_options& options)
      : request_(std::move(request)), options_(options), callbacks_(options) {}

  // The whole run. Afterwards report() is the summary, or the failure's object.
  Status run();
  [[nodiscard]] const Json& report() const { return report_; }

 private:
  Status prepare();
  Status open_capture();
  Status open_sessions();
  [[nodiscard]] SenderOptions sender_options() const { return {request_.threads != 1, model_->blocks().block}; }
  void open_twin();
  Status run_steps();
  Status run_step(int64_t step);
  RunOutcome execute(int64_t step, const std::vector<NamedValue>& inputs, EventSender* sender);
  Status verify_step(int64_t step, const std::vector<NamedValue>& inputs, const std::vector<OwnedValue>& outputs);
  Status leave_side_taps();
  Status fail(int64_t step, const std::vector<NamedValue>& inputs, const RunOutcome& outcome);
  void note_empty_outputs(const std::vector<OwnedValue>& outputs);
  Status carry_outputs(int64_t step, std::vector<OwnedValue>& outputs);
  void measure();
  Result<Overhead> measure_with(EventSender& sender);
  void summarise(Json report, bool has_session);
  void describe_failure(const Status& status);

  RunRequest request_;
  const tensortap_onnxruntime_run_options& options_;
  RunCallbacks callbacks_;
  std::shared_ptr<const RuntimeLibrary> library_;
  std::unique_ptr<PreparedModel> model_;
  RunInputs inputs_;
  OwnedSession session_;
  std::unique_ptr<EventSender> sender_;
  TapStyle style_ = TapStyle::kSide;
  std::unique_ptr<TappedSession> tapped_;    // null when nothing is to be captured
  std::unique_ptr<InferenceSession> plain_;  // when there are no taps
  std::unique_ptr<PlainTwin> twin_;          // for runs that are not captured
  bool skips_steps_ = false;                 // whether there may be any
  TwinAccount twin_account_;
  std::unique_ptr<Verification> verification_;
  std::optional<Overhead> overhead_;
  std::vector<std::string> notes_;
  int64_t steps_done_ = 0;
  Json failed_op_;
  Json report_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CAPTURE_RUN_H_
