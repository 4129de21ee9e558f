// Names of the autograd nodes of the graph that torch.compile traces, whose backward pass it runs for that.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_TRACED_NODES_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_TRACED_NODES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tensortap::pytorch {

// Thread-safe.
class TracedNodes {
 public:
  // The first that begins while none goes on forgets what was noted.
  void begin();
  // Does nothing when none goes on.
  void end();
  [[nodiscard]] bool is_tracing() const { return tracing_.load(std::memory_order_relaxed) > 0; }

  // While a graph is traced. `sequence_number` -1 = the node has none: it is not noted.
  void note(int64_t sequence_number, std::string_view name);
  // "SEQUENCE_NUMBER NAME" of each, a line each.
  [[nodiscard]] std::string names();

 private:
  std::atomic<int> tracing_{0};  // graphs that are being traced
  std::mutex mutex_;
  std::map<int64_t, std::string> names_;  // guarded by mutex_
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_TRACED_NODES_H_
