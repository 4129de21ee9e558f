#include "session/device_reads.h"

#include <algorithm>
#include <cstddef>

#include "base/json.h"
#include "base/text.h"
#include "session/event_view.h"
#include "tensor/memory_order.h"

namespace tensortap {
namespace {

constexpr const char* kNotAllowed = "tensor on a device";
constexpr const char* kNeedsWait = "tensor that cannot be copied without waiting";
constexpr const char* kFarBehind = "device too far behind";
constexpr const char* kNoWay = "no way to measure on this device";

uint64_t bytes_of(const tensortap_tensor& tensor) {
  if (tensor.dtype >= kDTypeCount || tensor.rank > kMaxRank || (tensor.dims == nullptr && tensor.rank > 0)) return 0;
  const TensorDesc desc = tensor_view(tensor).desc;
  const auto numel = desc.shape.numel();
  return numel ? packed_bytes(desc.dtype, *numel).value_or(0) : 0;
}

// Devices of an older source have no such functions.
bool can_queue(const tensortap_device& device) {
  const size_t size = offsetof(tensortap_device, drop) + sizeof(device.drop);
  return device.size >= size && device.queue != nullptr && device.poll != nullptr && device.drop != nullptr;
}

bool can_measure(const tensortap_device& device) { return can_queue(device) && device.size >= sizeof device && device.measure != nullptr; }

// Stands for the address of a tensor whose elements were gathered: others may begin at the same place.
const void* place_of_gathered(const tensortap_tensor& tensor) {
  return reinterpret_cast<const void*>(view_number(tensor_view(tensor), tensor.identity));
}

}  // namespace

bool is_remote(const tensortap_op_event& event) {
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    if (is_remote(tensor_of(event, i))) return true;
  }
  return false;
}

DeviceReads::Counts* DeviceReads::counts_of(const tensortap_device* device) {
  for (Counts& counts : counts_) {
    const tensortap_device* known = counts.device.load(std::memory_order_acquire);
    if (known == nullptr && counts.device.compare_exchange_strong(known, device)) return &counts;
    if (known == device) return &counts;
  }
  return nullptr;
}

void DeviceReads::miss(OpId op, const tensortap_device* device, const char* reason) {
  ops_.not_captured(op, reason);
  const std::lock_guard lock(mutex_);
  ++missed_[{device, reason}];
}

const void* DeviceReads::fetch(OpId op, const tensortap_tensor& tensor, uint64_t bytes, bool allowed, bool& packed) {
  const tensortap_device* const device = tensor.device;
  Counts* const counts = counts_of(device);
  const char* reason = kNotAllowed;
  int is_packed = 0;
  const void* const data = allowed ? device->fetch(device, tensor.source, &is_packed, &reason) : nullptr;
  packed = is_packed != 0;
  if (data == nullptr) {
    miss(op, device, reason == nullptr ? kNotAllowed : reason);
  } else if (counts != nullptr) {
    counts->tensors.fetch_add(1, std::memory_order_relaxed);
    counts->waited.fetch_add(1, std::memory_order_relaxed);
    counts->bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  return data;
}

DeviceReads::Queued DeviceReads::queue(OpId op, const tensortap_tensor& tensor, bool may_wait, std::unique_ptr<LateCopy>& copy) {
  const tensortap_device* const device = tensor.device;
  Counts* const counts = counts_of(device);
  const auto refused = [&](const char* reason) {
    miss(op, device, reason);
    return Queued::kMissed;
  };
  if (!can_queue(*device)) return may_wait ? Queued::kFetchOnly : refused(kNeedsWait);
  for (bool waited = false;; waited = true) {
    const uint64_t left = room_.left();
    const char* reason = kNotAllowed;
    int state = TENSORTAP_DEVICE_NO_ROOM;
    if (room_.enter()) {
      int packed = 0;
      void* ticket = nullptr;
      state = device->queue(device, tensor.source, &packed, &ticket, &reason);
      if (state == TENSORTAP_DEVICE_QUEUED) {
        if (waited && counts != nullptr) counts->waited.fetch_add(1, std::memory_order_relaxed);
        copy = std::make_unique<LateCopy>(room_, device, ticket, packed != 0);
        return Queued::kQueued;
      }
      room_.withdraw();
    }
    if (state == TENSORTAP_DEVICE_FAILED) return refused(reason == nullptr ? kNotAllowed : reason);
    if (state == TENSORTAP_DEVICE_FETCH_ONLY) return may_wait ? Queued::kFetchOnly : refused(kNeedsWait);
    if (may_wait && room_.wait_beyond(left)) continue;
    return may_wait && room_.is_empty() ? Queued::kFetchOnly : refused(kFarBehind);
  }
}

DeviceReads::Queued DeviceReads::measure(OpId op, const tensortap_tensor& tensor, uint32_t wanted, std::unique_ptr<LateCopy>& copy) {
  const tensortap_device* const device = tensor.device;
  Counts* const counts = counts_of(device);
  tensortap_measuring begun{};
  const char* reason = kNoWay;
  int state = TENSORTAP_DEVICE_NO_ROOM;
  if (!can_measure(*device)) {
    state = TENSORTAP_DEVICE_FETCH_ONLY;
  } else if (room_.enter()) {
    state = device->measure(device, tensor.source, wanted, &begun, &reason);
    if (state != TENSORTAP_DEVICE_QUEUED) room_.withdraw();
  }
  if (state == TENSORTAP_DEVICE_QUEUED) {
    if (counts != nullptr) counts->launches.fetch_add(begun.launches, std::memory_order_relaxed);
    if (counts != nullptr) counts->kernels.fetch_add(begun.kernels, std::memory_order_relaxed);
    if ((wanted & TENSORTAP_MEASURE_BY_KERNEL) != 0 && begun.kernels == 0) {
      const std::lock_guard lock(mutex_);
      ++no_kernel_[{device, reason == nullptr ? kNoWay : reason}];
    }
    copy = std::make_unique<LateCopy>(room_, device, begun.ticket, true, begun.parts);
    return Queued::kQueued;
  }
  if (state == TENSORTAP_DEVICE_FETCH_ONLY) {
    const std::lock_guard lock(mutex_);
    ++not_measured_[{device, reason == nullptr ? kNoWay : reason}];
    return Queued::kFetchOnly;
  }
  miss(op, device, state == TENSORTAP_DEVICE_NO_ROOM ? kFarBehind : reason == nullptr ? kNotAllowed : reason);
  return Queued::kMissed;
}

void DeviceReads::came(const LateCopy& copy, uint64_t bytes) {
  Counts* const counts = counts_of(copy.device());
  if (counts == nullptr) return;
  counts->tensors.fetch_add(1, std::memory_order_relaxed);
  counts->measured.fetch_add(copy.is_measured() ? 1 : 0, std::memory_order_relaxed);
  counts->bytes.fetch_add(copy.is_measured() ? copy.parts().size_bytes() : bytes, std::memory_order_relaxed);
}

void DeviceReads::release(const tensortap_tensor& tensor, const void* data) {
  if (data != nullptr && tensor.device->release != nullptr) tensor.device->release(tensor.device, data);
}

tensortap_tensor DeviceReads::fetched(OpId op, const tensortap_tensor& given, bool allowed) {
  tensortap_tensor tensor = given;
  const uint64_t bytes = bytes_of(given);
  const bool holds_values = bytes > 0 && (given.flags & TENSORTAP_TENSOR_UNWRITTEN) == 0;
  if (!is_remote(given) || !holds_values) return tensor;
  bool packed = false;
  tensor.data = fetch(op, given, bytes, allowed, packed);
  tensor.device = nullptr;
  if (tensor.data == nullptr || !packed) return tensor;
  tensor.identity = place_of_gathered(given);
  tensor.strides = nullptr;
  return tensor;
}

tensortap_op_event DeviceReads::fetched(const tensortap_op_event& event, bool allowed, std::vector<tensortap_tensor>& tensors) {
  tensortap_op_event made = event;
  const uint64_t count = std::min(event.tensor_count, kMostTensors);
  tensors.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    tensors.push_back(fetched(event.op, tensor_of(event, i), allowed));
    tensors.back().size = sizeof(tensortap_tensor);
  }
  made.tensors = tensors.data();
  made.tensor_count = tensors.size();
  return made;
}

Json DeviceReads::listed(const Reasons& reasons, const tensortap_device* device) {
  Json list = Json::array();
  for (const auto& [key, count] : reasons) {
    if (key.first == device) list.push_back({{"reason", key.second}, {"count", count}});
  }
  return list;
}

Json DeviceReads::report() const {
  Json list = Json::array();
  const std::lock_guard lock(mutex_);
  for (const Counts& counts : counts_) {
    const tensortap_device* const device = counts.device.load(std::memory_order_acquire);
    if (device == nullptr) break;
    const uint64_t tensors = counts.tensors.load(std::memory_order_relaxed);
    list.push_back({{"device", concat(device->name, ":", device->index)},
                    {"tensors", tensors},
                    {"measured", counts.measured.load(std::memory_order_relaxed)},
                    {"kernels", counts.kernels.load(std::memory_order_relaxed)},
                    {"launches", counts.launches.load(std::memory_order_relaxed)},
                    {"waited", counts.waited.load(std::memory_order_relaxed)},
                    {"bytes_fetched", counts.bytes.load(std::memory_order_relaxed)},
                    {"not_measured", listed(not_measured_, device)},
                    {"no_kernel", listed(no_kernel_, device)},
                    {"not_captured", listed(missed_, device)}});
  }
  return list;
}

}  // namespace tensortap
