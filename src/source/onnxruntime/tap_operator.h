// The custom operators that taps are: what ONNX Runtime calls when an op has run.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAP_OPERATOR_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAP_OPERATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/ort_interface.h"
#include "source/onnxruntime/run_tracker.h"
#include "source/onnxruntime/runtime_library.h"
#include "source/onnxruntime/tapped_model.h"

namespace tensortap::onnxruntime {

// A tap that fires. Everything is borrowed for the call.
struct FiredTap {
  const Api& api;
  abi::KernelContext* context;
  const Tap& tap;
  std::span<const abi::Value* const> values;  // as many as tap.slots
  int64_t element = -1;                       // of a sequence
  int64_t duration_ns = -1;
};

// What happens when taps fire. Called on the thread of the op, from several threads for several runs.
class TapListener {
 public:
  virtual ~TapListener() = default;
  // Whether on_tap wants to be called for this tap in this run. Must be quick.
  virtual bool wants(const Tap& tap, const Run& run) = 0;
  virtual void on_tap(const FiredTap& fired, const Run& run) = 0;
};

// The operators of one tapped session with the tracker of its runs. Must outlive the session; its address must not change. The
// library's table is kept by each kernel as the library hands it over, so sessions of different libraries live side by side.
class TapOperators {
 public:
  static Result<std::unique_ptr<TapOperators>> create(std::shared_ptr<const RuntimeLibrary> library, std::vector<Tap> taps);
  TapOperators(const TapOperators&) = delete;
  TapOperators& operator=(const TapOperators&) = delete;
  ~TapOperators() = default;

  [[nodiscard]] abi::CustomOpDomain* domain() const { return domain_.get(); }
  [[nodiscard]] const std::vector<Tap>& taps() const { return taps_; }
  [[nodiscard]] RunTracker& tracker() { return tracker_; }
  [[nodiscard]] const Api& api() const { return library_->api(); }

 private:
  struct Operator : abi::CustomOp {
    TapOperators* owner = nullptr;
  };

  TapOperators(std::shared_ptr<const RuntimeLibrary> library, std::vector<Tap> taps);
  static Operator side_operator(TapOperators* owner);
  static Operator alias_operator(TapOperators* owner);

  std::shared_ptr<const RuntimeLibrary> library_;
  std::vector<Tap> taps_;
  RunTracker tracker_;
  Operator side_;
  Operator alias_;
  Owned<abi::CustomOpDomain> domain_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAP_OPERATOR_H_
