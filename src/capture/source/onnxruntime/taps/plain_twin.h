// The plain twin of a session with taps: runs the same executed graph without taps whenever the capture does not need a run. Such a run
// costs the same as without tensortap.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_PLAIN_TWIN_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_PLAIN_TWIN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {

// The reason why two sessions that take turns could differ from one: an operator that may remember its earlier runs. "" = none.
std::string state_between_runs(const Graph& executed);

// A number for the shapes of a run: equal for inputs of equal types and similar dimensions. Only the three leading bits of a dimension
// count, so inputs that grow a little with each run stay of one kind for a while. Never 0.
uint64_t kind_of_inputs(const Api& api, const abi::Value* const* values, size_t count);

// Counts which session took the runs that are not captured; note() reports it. Thread-safe.
class TwinAccount {
 public:
  // `why_none`: "" when there is a twin.
  void set_reason(std::string why_none);
  void count(bool by_twin) { (by_twin ? by_twin_ : with_taps_).fetch_add(1, std::memory_order_relaxed); }
  // "" when every run was captured.
  [[nodiscard]] std::string note() const;

 private:
  mutable std::mutex mutex_;
  std::string why_none_;  // guarded by mutex_
  std::atomic<uint64_t> by_twin_{0};
  std::atomic<uint64_t> with_taps_{0};
};

// Thread-safe: any number of runs at the same time. `model` must outlive it.
class PlainTwin {
 public:
  // Errors: why there cannot be one.
  static Result<std::unique_ptr<PlainTwin>> open(const PreparedModel& model);

  // Returns bit for bit the outputs of the session with taps.
  Result<std::vector<OwnedValue>> run(const std::vector<NamedValue>& inputs) const { return session_->run(inputs, model_.output_names()); }

 private:
  explicit PlainTwin(const PreparedModel& model) : model_(model) {}
  const PreparedModel& model_;
  ScratchFolder scratch_;
  std::unique_ptr<InferenceSession> session_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_PLAIN_TWIN_H_
