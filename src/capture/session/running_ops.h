// RunningOps: what each thread runs at the moment and what that reads, kept so that a handler of a signal can say it.

#ifndef TENSORTAP_SESSION_RUNNING_OPS_H_
#define TENSORTAP_SESSION_RUNNING_OPS_H_

#include <tensortap/capture.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "session/watch_list.h"
#include "trace/op_info.h"

namespace tensortap {

// One execution, and where its inputs lie.
struct RunningOp {
  static constexpr size_t kMostTensors = 32;

  OpId op = kNoOp;
  uint32_t call = 0;
  int64_t step = 0;
  uint64_t run = 0;
  uint32_t phase = 0;
  uint32_t thread = 0;         // number of the system's
  uint32_t thread_number = 0;  // as in rows
  uint32_t count = 0;
  std::array<RememberedTensor, kMostTensors> tensors;
};

// begin(), end() and ran() from any thread; the memory is taken at once and stays. look() may be called by a handler of a signal: it takes
// no lock and no memory, and what other threads change meanwhile may be seen half.
class RunningOps {
 public:
  RunningOps() = default;
  ~RunningOps();
  RunningOps(const RunningOps&) = delete;
  RunningOps& operator=(const RunningOps&) = delete;

  // Makes room; false when the system has no memory, and nothing is noted then.
  bool reserve();
  // The whole graph, for sources that report ops after they ran: what comes next, and what that reads. Once, before the first ran().
  void bind(std::span<const OpInfo> ops);

  // An op is about to run on this thread, with these inputs. Ops inside of it may begin and end before it ends.
  void begin(const tensortap_op_event& event, int64_t step);
  // It ran, or failed: with what it made.
  void end(const tensortap_op_event& event, int64_t step);

  enum class Place : uint8_t { kInnermost, kAround, kNext };
  // Calls use(op, place, is_this_thread) for every op that runs, the innermost of each thread first; for a thread that runs none and
  // `thread` is the number of, with the op that comes next after the last one that it ended.
  template <class Use>
  void look(uint32_t thread, Use&& use) const noexcept {
    bool found = false;
    for (size_t i = 0; slots_ != nullptr && i < kThreads; ++i) {
      const Slot& slot = slots_[i];
      if (slot.thread.load(std::memory_order_acquire) == 0) continue;
      const bool here = slot.thread.load(std::memory_order_relaxed) == thread;
      const uint32_t depth = slot.depth.load(std::memory_order_acquire);
      for (uint32_t level = depth; level > 0 && depth - level < kDepth; --level) {
        use(slot.frames[(level - 1) % kDepth], level == depth ? Place::kInnermost : Place::kAround, here);
        found = found || here;
      }
    }
    if (!found) look_for_next(thread, [&use](const RunningOp& op) { use(op, Place::kNext, true); });
  }

 private:
  static constexpr size_t kThreads = 256;
  static constexpr uint32_t kDepth = 4;  // ops inside each other that are remembered of one thread, the innermost ones

  struct Slot {
    std::atomic<uint32_t> thread;
    uint32_t thread_number;  // of the owner, which alone uses it
    std::atomic<uint32_t> depth;
    std::array<RunningOp, kDepth> frames;
    std::atomic<bool> has_last;
    RunningOp last;  // the op that ended last, then, for a handler, room for the next one
  };
  // Of one op of a bound graph.
  struct Link {
    OpId next = kNoOp;
    uint32_t first_output = 0;  // in made_
    uint32_t outputs = 0;
    uint32_t first_input = 0;  // in inputs_
    uint32_t inputs = 0;
  };
  struct Made {
    std::atomic<bool> known{false};
    uint64_t run = 0;
    RememberedTensor tensor;
  };

  Slot* own_slot();
  void note_made(const tensortap_op_event& event);
  // Calls `use` with the op that comes after the last one of a thread.
  template <class Use>
  void look_for_next(uint32_t thread, Use&& use) const noexcept {
    for (size_t i = 0; slots_ != nullptr && bound_.load(std::memory_order_acquire) && i < kThreads; ++i) {
      Slot& slot = slots_[i];
      if (slot.thread.load(std::memory_order_acquire) != thread || !slot.has_last.load(std::memory_order_acquire)) continue;
      if (fill_next(slot.last)) use(slot.last);
      return;
    }
  }
  bool fill_next(RunningOp& last) const noexcept;

  Slot* slots_ = nullptr;  // zero pages until they are used
  uint64_t number_ = 0;    // of this object, for the threads' own memory of their slots
  std::atomic<bool> bound_{false};
  std::vector<Link> links_;
  std::vector<uint32_t> inputs_;  // position in made_, UINT32_MAX = not known
  std::vector<Made> made_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RUNNING_OPS_H_
