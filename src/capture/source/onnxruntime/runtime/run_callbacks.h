// The caller's callbacks during a run.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUN_CALLBACKS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUN_CALLBACKS_H_

#include <cstdint>
#include <vector>

#include "source/onnxruntime/runtime/ort_value.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

class RunCallbacks {
 public:
  explicit RunCallbacks(const tensortap_onnxruntime_run_options& options) : options_(options) {}

  void progress(const char* stage, uint64_t done = 0, uint64_t total = 0) const {
    if (options_.on_progress != nullptr) options_.on_progress(options_.user, stage, done, total);
  }
  [[nodiscard]] bool should_stop() const { return options_.should_stop != nullptr && options_.should_stop(options_.user) != 0; }
  // Gives out the outputs of a step; elements of a sequence come one by one, a map as two tensors NAME.keys and NAME.values.
  void outputs(const Api& api, int64_t step, const std::vector<std::string>& names, const std::vector<OwnedValue>& values) const;

 private:
  void output(const Api& api, int64_t step, const abi::Value* value, tensortap_tensor named) const;
  const tensortap_onnxruntime_run_options& options_;
};

// Whether a value has no tensors to give: an optional without a value, or an empty sequence. "" = it has; otherwise which of the two, for
// people.
std::string_view emptiness(const Api& api, const abi::Value* value);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUN_CALLBACKS_H_
