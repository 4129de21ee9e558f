// WatchList: where the latest outputs of the watched ops lie in memory, so that they can be looked at again after other ops ran.

#ifndef TENSORTAP_SESSION_WATCH_LIST_H_
#define TENSORTAP_SESSION_WATCH_LIST_H_

#include <tensortap/capture.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "stats/digest.h"
#include "tensor/tensor.h"
#include "trace/op_info.h"

namespace tensortap {

// The bytes that a tensor spans: from its lowest element on.
struct MemorySpan {
  const std::byte* begin = nullptr;
  uint64_t bytes = 0;
  uint64_t first = 0;  // bytes from `begin` to the first element
};
// Nothing for a tensor without data or elements, of strings, or of impossible sizes.
std::optional<MemorySpan> memory_span(const tensortap_tensor& tensor);

// A tensor that was reported, with its own copy of what describes it. The memory is the program's.
class RememberedTensor {
 public:
  RememberedTensor() = default;
  explicit RememberedTensor(const tensortap_tensor& tensor);
  // As it was reported; borrows from this object.
  [[nodiscard]] tensortap_tensor c() const;
  // The same as input `slot` of an op that reads it.
  [[nodiscard]] RememberedTensor as_input(uint32_t slot) const;
  [[nodiscard]] uint64_t storage() const { return tensor_.storage; }
  [[nodiscard]] uint32_t slot_index() const { return tensor_.slot_index; }
  [[nodiscard]] int64_t element() const { return tensor_.element; }

  Digest seen;  // of the content at the latest look

 private:
  tensortap_tensor tensor_{};
  std::array<int64_t, kMaxRank> dims_{};
  std::array<int64_t, kMaxRank> strides_{};
};

// Thread-safe.
class WatchList {
 public:
  struct Watched {
    OpId op = kNoOp;
    RememberedTensor tensor;
  };

  // An op of `run` ran with these tensors: what was remembered of it, and of memory that now belongs to another block, is forgotten.
  void ran(uint64_t run, OpId op, const tensortap_op_event& event);
  // Remembers an output of an op.
  void remember(uint64_t run, OpId op, const RememberedTensor& tensor);
  // What is remembered of a run, in the order of ops.
  [[nodiscard]] std::vector<Watched> watched(uint64_t run) const;
  // Notes what a look saw. True when the content changed since the one before.
  bool saw(uint64_t run, const Watched& watched, const Digest& digest);
  // The memory is gone.
  void lost(uint64_t run, const Watched& watched);
  void end_run(uint64_t run);

  // The pseudo-op for looks at an op after another; kNoOp when there is none yet.
  [[nodiscard]] OpId pseudo_op(OpId watcher, OpId watched) const;
  void set_pseudo_op(OpId watcher, OpId watched, OpId pseudo);
  // All of them, by watcher and watched op.
  [[nodiscard]] std::map<std::pair<OpId, OpId>, OpId> pseudo_ops() const;

  // {"looks", "changed", "given_away", "unreadable"}
  [[nodiscard]] Json report() const;

 private:
  using Key = std::pair<uint64_t, OpId>;  // run, op
  RememberedTensor* find(uint64_t run, const Watched& watched);

  mutable std::mutex mutex_;  // guards what follows
  std::map<Key, std::vector<RememberedTensor>> remembered_;
  std::map<std::pair<OpId, OpId>, OpId> pseudo_ops_;
  uint64_t looks_ = 0;
  uint64_t changed_ = 0;
  uint64_t given_away_ = 0;
  uint64_t unreadable_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_WATCH_LIST_H_
