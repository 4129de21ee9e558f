// Proof that capture changed nothing: the same model without taps on the same inputs.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_VERIFICATION_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_VERIFICATION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {

class Verification {
 public:
  static Result<std::unique_ptr<Verification>> create(const PreparedModel& model);

  // Runs plain on the inputs of a captured run and compares all outputs bit for bit.
  Status check_outputs(int64_t step, const std::vector<NamedValue>& inputs, const std::vector<OwnedValue>& captured);

  // Runs a second tapped session with idle taps under ONNX Runtime's profiler and compares the kernels with those of the plain session's
  // first run. To be called after check_outputs of the first step, with the same inputs.
  Status check_kernels(TapStyle style, const std::vector<NamedValue>& inputs);

  // True: all outputs of all checked steps were equal. False: they were not. Nothing: the model itself gives other bits each time.
  [[nodiscard]] std::optional<bool> identical() const {
    return is_deterministic_ ? std::optional<bool>(output_difference_.empty()) : std::nullopt;
  }
  [[nodiscard]] std::optional<bool> kernels_equal() const { return kernels_equal_; }
  // What differs, in words.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  explicit Verification(const PreparedModel& model) : model_(model) {}
  Result<std::string> first_difference(const std::vector<OwnedValue>& a, const std::vector<OwnedValue>& b) const;

  const PreparedModel& model_;
  ScratchFolder scratch_;
  std::unique_ptr<InferenceSession> plain_;
  bool profiling_ = true;
  std::string plain_profile_;
  bool is_deterministic_ = true;
  std::string output_difference_;
  std::optional<bool> kernels_equal_;
  std::vector<std::string> notes_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_VERIFICATION_H_
