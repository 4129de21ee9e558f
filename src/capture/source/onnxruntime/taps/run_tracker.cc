#include "source/onnxruntime/taps/run_tracker.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "source/onnxruntime/taps/tap_operator.h"

namespace tensortap::onnxruntime {
namespace {

thread_local const void* t_tracker = nullptr;
thread_local Run* t_run = nullptr;

// Taps that fire exactly once per run: those of tensors in the main graph.
bool fires_once(const Tap& tap) { return tap.depth == 0 && tap.kind == TapKind::kOutputs; }

}  // namespace

void Run::begin(size_t depths, int64_t now) {
  last = {now, 0};
  marks.assign(depths, last);
  capture_ns = 0;
}

int64_t Run::duration(const Tap& tap, int64_t now) const {
  if (tap.kind != TapKind::kOutputs || tap.graph_input || tap.depth >= marks.size()) return -1;
  if (!tap.has_body) return now - last.end_ns;
  const Mark& begin = marks[tap.depth];
  return now - begin.end_ns - (capture_ns - begin.capture_ns);
}

void Run::tap_done(const Tap& tap, int64_t begin_ns, int64_t end_ns) {
  capture_ns += end_ns - begin_ns;
  last = {end_ns, capture_ns};
  // A nested graph that is entered next also begins now.
  for (size_t depth = tap.depth; depth < marks.size(); ++depth) marks[depth] = last;
}

RunTracker::RunTracker(const std::vector<Tap>& taps) : taps_(taps) {
  for (const Tap& tap : taps) {
    depths_ = std::max<size_t>(depths_, size_t{tap.depth} + 1);
    main_taps_ += fires_once(tap) ? 1 : 0;
    watches_inputs_ = watches_inputs_ || tap.graph_input;
  }
}

RunTracker::Announcement::Announcement(const RunTracker& tracker, Run& run) : outer_tracker_(t_tracker), outer_run_(t_run) {
  run.begin(tracker.depths_, monotonic_ns());
  t_tracker = &tracker;
  t_run = &run;
}

RunTracker::Announcement::~Announcement() {
  t_tracker = outer_tracker_;
  t_run = outer_run_;
}

Run* RunTracker::run_of(const Api& api, const abi::KernelContext* context, uint32_t tap) {
  Run* run = t_tracker == this ? t_run : nullptr;
  if (run == nullptr) {
    auto* get_logger = api.find(ort::kKernelContextGetLogger);
    const abi::Logger* logger = nullptr;
    if (get_logger == nullptr) return nullptr;
    if (abi::Status* status = get_logger(context, &logger)) {
      api.find(ort::kReleaseStatus)(status);
      return nullptr;
    }
    run = unannounced(logger, tap);
  }
  if (run->awaits != nullptr) std::exchange(run->awaits, nullptr)->run_begins(*run);
  run->last_tap = tap;
  if (fires_once(taps_[tap])) {
    if (run->last_main_tap != UINT32_MAX && tap < run->last_main_tap) run->in_order = false;
    run->last_main_tap = tap;
  }
  return run;
}

void RunTracker::hand_over(Run& run) {
  if (run.fired.empty()) return;
  // The contents of the run were written without the lock; announced runs stay on their thread.
  const std::lock_guard lock(mutex_);
  if (run.fired_count == main_taps_) end(run);
}

void RunTracker::end(Run& run) {
  if (TapListener* listener = listener_.load(std::memory_order_acquire); listener != nullptr && !run.ended) listener->run_ends(run);
  run.ended = true;
}

void RunTracker::start(Run& run) {
  run = Run();
  run.fired.assign(taps_.size(), false);
  run.step = next_step_++;
  run.number = static_cast<uint64_t>(run.step);
  run.listener = listener_.load(std::memory_order_acquire);
  if (run.listener != nullptr) run.listener->run_begins(run);
  run.begin(depths_, monotonic_ns());
}

Run* RunTracker::unannounced(const abi::Logger* logger, uint32_t tap) {
  std::unique_lock lock(mutex_);
  auto& entry = runs_[logger];
  if (!entry) {
    entry = std::make_unique<Run>();
    start(*entry);
  }
  Run* run = entry.get();
  // If the inputs are watched, a run begins with one of them. Taps that may fire any number of times can fire after the last of the others.
  const bool is_complete = run->fired_count == main_taps_ && (fires_once(taps_[tap]) || !watches_inputs_);
  const bool is_over = is_complete || (fires_once(taps_[tap]) && run->fired[tap]);
  if (is_over && main_taps_ > 0) {
    end(*run);
    start(*run);
  }
  if (fires_once(taps_[tap])) {
    run->fired[tap] = true;
    ++run->fired_count;
  }
  return run;
}

}  // namespace tensortap::onnxruntime
