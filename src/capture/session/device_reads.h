// DeviceReads: tensors in memory that the host cannot read, fetched through their source, and what that took.

#ifndef TENSORTAP_SESSION_DEVICE_READS_H_
#define TENSORTAP_SESSION_DEVICE_READS_H_

#include <tensortap/asking.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "session/late_copy.h"
#include "session/op_registry.h"

namespace tensortap {

// Whether the elements of a tensor have to be fetched before anybody reads them.
inline bool is_remote(const tensortap_tensor& tensor) { return tensor.data == nullptr && tensor.device != nullptr; }

// Borrows the ops. Thread-safe; fetched elements belong to the thread that fetched them.
class DeviceReads {
 public:
  explicit DeviceReads(OpRegistry& ops) : ops_(ops) {}
  DeviceReads(const DeviceReads&) = delete;
  DeviceReads& operator=(const DeviceReads&) = delete;

  // The elements of a remote tensor of an op's event, of `bytes` bytes; `packed`: they are contiguous, otherwise they have the strides of
  // the tensor. Null where fetching is impossible or not allowed; the op's coverage then has the reason. The elements stay valid until
  // release(), or until the event's op has ended.
  const void* fetch(OpId op, const tensortap_tensor& tensor, uint64_t bytes, bool allowed, bool& packed);
  static void release(const tensortap_tensor& tensor, const void* data);

  enum class Queued : uint8_t {
    kQueued,     // `copy` is set
    kFetchOnly,  // fetch() may have the elements
    kMissed      // nothing can; counted
  };
  // Begins a copy of the elements of a remote tensor of an op's event. `may_wait`: this thread may wait for room, and fetch() is allowed.
  Queued queue(OpId op, const tensortap_tensor& tensor, bool may_wait, std::unique_ptr<LateCopy>& copy);
  // The same for statistics that the device computes; `wanted`: as tensortap_device::measure() has it. kFetchOnly: queue() may copy it. The
  // thread never waits.
  Queued measure(OpId op, const tensortap_tensor& tensor, uint32_t wanted, std::unique_ptr<LateCopy>& copy);
  // What became of a copy: `bytes` bytes came, or why they did not.
  void came(const LateCopy& copy, uint64_t bytes);
  void miss(OpId op, const tensortap_device* device, const char* reason);

  // Copies an event so that none of its tensors is remote; those that cannot be fetched are described only. `tensors` keeps them.
  tensortap_op_event fetched(const tensortap_op_event& event, bool allowed, std::vector<tensortap_tensor>& tensors);
  // The same for one tensor, which the op read.
  tensortap_tensor fetched(OpId op, const tensortap_tensor& tensor, bool allowed);

  // Whether no device was met.
  [[nodiscard]] bool is_unused() const { return counts_.front().device.load(std::memory_order_acquire) == nullptr; }
  // A list of {"device": "cuda:0", "tensors": fetched or measured there, "measured": there, "kernels": those that one kernel measured,
  // "launches": for what was measured, "waited": those that a thread of the program waited for, "bytes_fetched", "not_measured" there but
  // copied: [{"reason", "count"}], "no_kernel": why operators measured instead, "not_captured": the same}.
  [[nodiscard]] Json report() const;

 private:
  static constexpr size_t kMostDevices = 64;  // that are counted
  struct Counts {
    std::atomic<const tensortap_device*> device{nullptr};
    std::atomic<uint64_t> tensors{0};
    std::atomic<uint64_t> measured{0};
    std::atomic<uint64_t> launches{0};
    std::atomic<uint64_t> kernels{0};
    std::atomic<uint64_t> waited{0};
    std::atomic<uint64_t> bytes{0};
  };
  Counts* counts_of(const tensortap_device* device);

  OpRegistry& ops_;
  LateRoom room_;
  std::array<Counts, kMostDevices> counts_;
  mutable std::mutex mutex_;
  using Reasons = std::map<std::pair<const tensortap_device*, std::string>, uint64_t>;
  static Json listed(const Reasons& reasons, const tensortap_device* device);
  Reasons missed_;
  Reasons not_measured_;
  Reasons no_kernel_;
};

// Whether an event has a remote tensor.
bool is_remote(const tensortap_op_event& event);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_DEVICE_READS_H_
