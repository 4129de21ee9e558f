// WatchLooks: the trigger "watch" of a session: looks at the latest outputs of the watched ops again after other ops ran.

#ifndef TENSORTAP_SESSION_WATCH_LOOKS_H_
#define TENSORTAP_SESSION_WATCH_LOOKS_H_

#include <atomic>
#include <cstdint>

#include "base/json_fwd.h"
#include "session/last_ops.h"
#include "session/op_registry.h"
#include "session/record_sink.h"
#include "session/taken_event.h"
#include "session/tensor_look.h"
#include "session/watch_list.h"

namespace tensortap {

// The records of a look belong to a pseudo-op, one for each pair of ops. Borrows all parts. Thread-safe.
class WatchLooks {
 public:
  struct Parts {
    TensorLook& look;
    RecordSink& sink;
    LastOps& last_ops;
    OpRegistry& ops;
  };
  explicit WatchLooks(const Parts& parts) : parts_(parts) {}
  WatchLooks(const WatchLooks&) = delete;
  WatchLooks& operator=(const WatchLooks&) = delete;

  // An execution ended whose event was taken: looks again if the op is a watcher, and remembers what it made.
  void ran(const TakenEvent& event);
  // Forgets what a run made.
  void end_run(uint64_t run) { list_.end_run(run); }

  // Outputs that are not watched: the memory of a device cannot be looked at again.
  [[nodiscard]] uint64_t on_devices() const { return on_devices_.load(std::memory_order_relaxed); }
  // As WatchList::report(), and "still_read": [name, [...]] of each look's op, by output: whether the watched tensor was still to be read
  // then; null = not known.
  [[nodiscard]] Json report() const;

 private:
  // Takes what lies in the watched memory now. True when that changed.
  bool look_again(const TakenEvent& event, const WatchList::Watched& watched);
  OpId look_op(OpId watcher, OpId watched);

  const Parts parts_;
  std::atomic<uint64_t> on_devices_{0};
  WatchList list_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_WATCH_LOOKS_H_
