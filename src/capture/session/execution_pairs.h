// ExecutionPairs: the executions of one op whose inputs were reported (TENSORTAP_EVENT_READ_FIRST) and whose outputs were not yet.

#ifndef TENSORTAP_SESSION_EXECUTION_PAIRS_H_
#define TENSORTAP_SESSION_EXECUTION_PAIRS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tensortap {

// Which execution an event belongs to. Where the source does not number calls, the thread distinguishes those that run at the same time.
struct ExecutionKey {
  uint64_t run = 0;
  int64_t step = 0;
  uint32_t phase = 0;
  uint32_t number = 0;  // tensortap_op_event::call, 0 = the session counts
  uint32_t thread = 0;
};

// What the first event of an execution decided for the second.
struct Execution {
  uint32_t call = 0;   // for its records
  bool taken = false;  // whether it is captured
  bool read_infinity = false;
  // Whether it read one where what it read came late, null = none of it does. Of the writer thread, which sees inputs before outputs.
  std::shared_ptr<bool> late_infinity{};
};

// Thread-safe; one load where nothing waits. Holds a bounded number: the oldest is forgotten.
class ExecutionPairs {
 public:
  void begin(const ExecutionKey& key, const Execution& execution);
  // The latest that fits, which waits no longer. Nothing when none does: the event is the execution's only one.
  std::optional<Execution> end(const ExecutionKey& key);

 private:
  static constexpr size_t kMostWaiting = 256;
  struct Waiting {
    ExecutionKey key;
    Execution execution;
  };
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_EXECUTION_PAIRS_H_
