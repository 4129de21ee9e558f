// Keeps copies of chosen values that the taps of a run see.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_VALUE_KEEPER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_VALUE_KEEPER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "source/onnxruntime/runtime/ort_value.h"
#include "source/onnxruntime/taps/registered_ops.h"
#include "source/onnxruntime/taps/tap_operator.h"

namespace tensortap::onnxruntime {

// The taps of one run fire one after another, but runs of other threads may have the same listener.
class ValueKeeper final : public TapListener {
 public:
  // Uses the lists of numbers alone, which must outlive it.
  explicit ValueKeeper(const OpTable& numbers) : numbers_(numbers) {}

  // An output of an entry: of a node, or of an input of the graph where taps watch these. To be called before the run.
  void want(uint32_t entry, uint32_t output) { kept_[{entry, output}]; }

  bool wants(const Tap& tap, const Run& run) override;
  void on_tap(const FiredTap& fired, const Run& run) override;

  // Removes the last copy and returns it; null when no tap showed the value.
  OwnedValue take(uint32_t entry, uint32_t output);
  // The interface of the library that made the copies; without functions when there are no copies.
  [[nodiscard]] const Api& api() const { return api_; }

 private:
  [[nodiscard]] uint32_t entry_of(const Tap& tap) const { return (tap.graph_input ? numbers_.by_input : numbers_.by_node)[tap.node]; }

  const OpTable& numbers_;
  std::mutex mutex_;
  Api api_;
  std::map<std::pair<uint32_t, uint32_t>, OwnedValue> kept_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_VALUE_KEEPER_H_
