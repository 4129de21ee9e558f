// A loaded model that the caller runs through its own calls, captured or plain: the result of tensortap_onnxruntime_model_open().

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LOADED_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LOADED_MODEL_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json_fwd.h"
#include "source/onnxruntime/run/run_request.h"
#include "source/onnxruntime/run/session_calls.h"
#include "source/onnxruntime/runtime/run_callbacks.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "source/onnxruntime/taps/event_sender.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// Thread-safe once open.
class LoadedModel {
 public:
  // Errors: those of the request, the runtime or the model. A capture that fails leaves the model plain.
  static Result<std::unique_ptr<LoadedModel>> open(const tensortap_onnxruntime_model_options& options);
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;
  ~LoadedModel() = default;

  // The object that tensortap_onnxruntime_model_open() reports.
  [[nodiscard]] Json describe() const;

  // On failure `failed_op` holds the known facts about the op. Errors: kInvalidArgument for inputs that the model does not take.
  Status run(const tensortap_tensor* inputs, uint64_t count, const RunCallbacks& callbacks, Json& failed_op);

  // Both give the first error of the session.
  Status flush();
  Status end_capture();

 private:
  // A model that came as bytes: the runtime and we read it by the path of a file in memory.
  struct Memory {
    int fd = -1;
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();
  };

  LoadedModel() = default;
  Status take_bytes(const tensortap_onnxruntime_model_options& options);
  Status read_interface();
  Status open_plain();
  void add_unmatched(Json& description) const;
  Status open_capture(const tensortap_onnxruntime_model_options& options);
  void drop_capture(const Status& reason);
  [[nodiscard]] Result<const ValueInfo*> input_of(const tensortap_tensor& tensor) const;
  Status make_inputs(const tensortap_tensor* inputs, uint64_t count, std::vector<OwnedValue>& values, std::vector<NamedValue>& named) const;
  RunOutcome execute(const std::vector<NamedValue>& inputs, int64_t step);
  Json report_failure(const std::vector<NamedValue>& inputs, int64_t step, const RunOutcome& outcome);
  void leave_side_taps();
  [[nodiscard]] std::shared_ptr<TappedSession> tapped() const;

  RunRequest request_;
  std::string name_;
  Memory memory_;
  std::shared_ptr<const RuntimeLibrary> library_;
  ModelFile file_;
  OptimizedModel inferred_;  // when the author leaves shapes of outputs open
  Model interface_;          // whose inputs and outputs are reported
  std::vector<std::string> output_names_;
  std::string capture_error_;
  std::unique_ptr<InferenceSession> plain_;

  std::unique_ptr<PreparedModel> prepared_;  // of captured models
  mutable std::shared_mutex capture_mutex_;  // held shared by runs, exclusively to end the capture
  OwnedSession session_;                     // guarded by capture_mutex_
  std::unique_ptr<EventSender> sender_;      // guarded by capture_mutex_
  mutable std::mutex tapped_mutex_;
  std::shared_ptr<TappedSession> tapped_;  // guarded by tapped_mutex_; null when nothing is to be captured
  TapStyle style_ = TapStyle::kSide;       // guarded by tapped_mutex_
  std::atomic<int64_t> next_step_{0};
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LOADED_MODEL_H_
