// Finds the run of a firing tap. Several threads may run one session at the same time, and a tap only gets a kernel context.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_RUN_TRACKER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_RUN_TRACKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

class TapListener;

// One run of a session: the facts that are known while its taps fire. Used by one thread at a time.
struct Run {
  int64_t step = 0;
  uint64_t number = 0;
  uint64_t kind = 0;                // tensortap_step_begin_kind()
  TapListener* listener = nullptr;  // null = taps do nothing in this run
  bool by_twin = false;             // a session without taps runs it
  TapListener* awaits = nullptr;    // whose run_begins() the first tap calls; null = the run has begun
  uint32_t last_tap = UINT32_MAX;   // that fired
  bool in_order = true;             // taps of the main graph have fired in the order of its nodes

  // The time of an op is the gap between two taps. An op with nested graphs began when the tap before it at its own depth ended. The time
  // that the capture itself took in between is subtracted.
  struct Mark {
    int64_t end_ns = 0;
    int64_t capture_ns = 0;
  };
  std::vector<Mark> marks;  // by depth
  Mark last;
  int64_t capture_ns = 0;

  std::vector<bool> fired;  // taps of the main graph; only for runs that were not announced
  uint32_t fired_count = 0;
  bool ended = false;  // the listener was notified
  uint32_t last_main_tap = UINT32_MAX;

  void begin(size_t depths, int64_t now);
  // Duration of the op whose tap fires now; -1 when it is not known.
  [[nodiscard]] int64_t duration(const Tap& tap, int64_t now) const;
  void tap_done(const Tap& tap, int64_t begin_ns, int64_t end_ns);
};

// Thread-safe.
class RunTracker {
 public:
  explicit RunTracker(const std::vector<Tap>& taps);

  // While it lives, taps that fire on this thread belong to `run`. This is how our own runner announces its step. Sequential execution
  // fires every tap on the thread that called Run. Announcements of different trackers may nest.
  class Announcement {
   public:
    Announcement(const RunTracker& tracker, Run& run);
    ~Announcement();
    Announcement(const Announcement&) = delete;
    Announcement& operator=(const Announcement&) = delete;

   private:
    const void* outer_tracker_;
    Run* outer_run_;
  };

  // The run of a tap. Runs that were not announced are known by the logger that the runtime makes for each run: a new logger is a new run,
  // and so is a tap of the main graph that fires twice, since addresses come back. Null when the library does not report the logger.
  Run* run_of(const Api& api, const abi::KernelContext* context, uint32_t tap);

  // Called when a tap of the run is done: the next run with the same logger may come on another thread.
  void hand_over(Run& run);

  // Runs that were not announced get this listener, whose run_begins() and run_ends() are called, and count steps from 0.
  void set_listener(TapListener* listener) { listener_.store(listener, std::memory_order_release); }

 private:
  Run* unannounced(const abi::Logger* logger, uint32_t tap);
  void start(Run& run);
  void end(Run& run);

  const std::vector<Tap>& taps_;
  size_t depths_ = 1;
  uint32_t main_taps_ = 0;
  bool watches_inputs_ = false;
  std::atomic<TapListener*> listener_{nullptr};
  std::mutex mutex_;
  std::unordered_map<const abi::Logger*, std::unique_ptr<Run>> runs_;  // guarded by mutex_
  int64_t next_step_ = 0;                                              // guarded by mutex_
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_RUN_TRACKER_H_
