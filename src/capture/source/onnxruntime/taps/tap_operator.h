// The taps as custom operators, which ONNX Runtime calls when an op has run.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_TAP_OPERATOR_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_TAP_OPERATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/runtime/ort_interface.h"
#include "source/onnxruntime/taps/run_tracker.h"

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

// Receives the taps that fire. Called on the thread of the op, from several threads for several runs.
class TapListener {
 public:
  virtual ~TapListener() = default;
  // Whether on_tap wants to be called for this tap in this run. Must be quick.
  virtual bool wants(const Tap& tap, const Run& run) = 0;
  virtual void on_tap(const FiredTap& fired, const Run& run) = 0;
  // The first tap of a run calls run_begins(); run_ends() reports that the run is over. Both are called only for runs that were not
  // announced (with the tracker's lock held) and for runs that await it (Run::awaits). The listener may choose the run's step and turn the
  // run off.
  virtual void run_begins(Run&) {}
  virtual void run_ends(const Run&) {}
};

// The taps of one tapped graph with the tracker of its runs. The kernels of a session share it, so it lives as long as they do.
struct TapGraph {
  explicit TapGraph(std::vector<Tap> all) : taps(std::move(all)), tracker(taps) {}
  const std::vector<Tap> taps;
  RunTracker tracker;
};

// While it lives, kernels that are made for taps with its number (TapOptions::graph) belong to its graph. Thread-safe.
class PublishedGraph {
 public:
  explicit PublishedGraph(int64_t number, std::shared_ptr<TapGraph> graph);
  ~PublishedGraph();
  PublishedGraph(const PublishedGraph&) = delete;
  PublishedGraph& operator=(const PublishedGraph&) = delete;
  // Never the same again, from 1.
  static int64_t next_number();

 private:
  const int64_t number_;
};

// The operators of tapped sessions. Must outlive the sessions; its address must not change. Each kernel keeps the library's table that it
// was made with, so sessions of different libraries live side by side.
class TapOperators {
 public:
  // For one session.
  static Result<std::unique_ptr<TapOperators>> create(const Api& api, std::vector<Tap> taps);
  // For any number of sessions whose graphs are published while they are made.
  static Result<std::unique_ptr<TapOperators>> create_for_published(const Api& api);
  TapOperators(const TapOperators&) = delete;
  TapOperators& operator=(const TapOperators&) = delete;
  ~TapOperators() = default;

  [[nodiscard]] abi::CustomOpDomain* domain() const { return domain_.get(); }
  // Not of create_for_published().
  [[nodiscard]] const std::vector<Tap>& taps() const { return graph_->taps; }
  [[nodiscard]] RunTracker& tracker() { return graph_->tracker; }
  [[nodiscard]] const Api& api() const { return api_; }
  [[nodiscard]] bool serves_published() const { return graph_ == nullptr; }
  // The graph that the taps of a kernel belong to: this object's graph, or the published one of this number. Null when there is none.
  [[nodiscard]] std::shared_ptr<TapGraph> graph(int64_t number) const;

 private:
  struct Operator : abi::CustomOp {
    TapOperators* owner = nullptr;
  };

  TapOperators(const Api& api, std::shared_ptr<TapGraph> graph);
  static Result<std::unique_ptr<TapOperators>> with_domain(std::unique_ptr<TapOperators> operators);
  static Operator side_operator(TapOperators* owner);
  static Operator alias_operator(TapOperators* owner);

  const Api api_;
  const std::shared_ptr<TapGraph> graph_;  // null = published ones
  Operator side_;
  Operator alias_;
  Owned<abi::CustomOpDomain> domain_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_TAP_OPERATOR_H_
