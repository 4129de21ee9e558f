#include "session/watch_list.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "session/event_view.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

bool same_slot(const RememberedTensor& a, const RememberedTensor& b) {
  return a.slot_index() == b.slot_index() && a.element() == b.element();
}

bool overlap(const MemorySpan& a, const MemorySpan& b) { return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes; }

}  // namespace

std::optional<MemorySpan> memory_span(const tensortap_tensor& tensor) {
  const bool known = tensor.dtype < kDTypeCount && tensor.rank <= kMaxRank && (tensor.rank == 0 || tensor.dims != nullptr);
  if (!known || tensor.data == nullptr || (tensor.flags & TENSORTAP_TENSOR_UNWRITTEN) != 0) return std::nullopt;
  const auto dtype = static_cast<DType>(tensor.dtype);
  const std::optional<uint64_t> numel = Shape(std::span(tensor.dims, tensor.rank)).numel();
  if (dtype == DType::kString || dtype == DType::kUndefined || !numel.has_value() || *numel == 0) return std::nullopt;
  const auto* first = static_cast<const std::byte*>(tensor.data);
  if (tensor.strides == nullptr) {
    const std::optional<uint64_t> bytes = packed_bytes(dtype, *numel);
    return bytes.has_value() ? std::optional(MemorySpan{first, *bytes, 0}) : std::nullopt;
  }
  const int64_t size = dtype_info(dtype).bits / 8;
  int64_t low = 0;
  int64_t high = size;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &reach) || __builtin_mul_overflow(reach, size, &reach))
      return std::nullopt;
    int64_t& end = reach < 0 ? low : high;
    if (__builtin_add_overflow(end, reach, &end)) return std::nullopt;
  }
  int64_t bytes = 0;
  if (size == 0 || __builtin_sub_overflow(high, low, &bytes)) return std::nullopt;
  return MemorySpan{first + low, static_cast<uint64_t>(bytes), static_cast<uint64_t>(-low)};
}

RememberedTensor::RememberedTensor(const tensortap_tensor& tensor) : tensor_(tensor) {
  tensor_.rank = std::min<uint32_t>(tensor.rank, kMaxRank);
  if (tensor.dims != nullptr) std::copy_n(tensor.dims, tensor_.rank, dims_.begin());
  if (tensor.strides != nullptr) std::copy_n(tensor.strides, tensor_.rank, strides_.begin());
  tensor_.name = nullptr;
}

tensortap_tensor RememberedTensor::c() const {
  tensortap_tensor tensor = tensor_;
  tensor.size = sizeof(tensor);
  tensor.dims = dims_.data();
  tensor.strides = tensor_.strides == nullptr ? nullptr : strides_.data();
  return tensor;
}

RememberedTensor RememberedTensor::as_input(uint32_t slot) const {
  RememberedTensor input = *this;
  input.tensor_.slot_kind = TENSORTAP_SLOT_INPUT;
  input.tensor_.slot_index = slot;
  return input;
}

void WatchList::ran(uint64_t run, OpId op, const tensortap_op_event& event) {
  const std::lock_guard lock(mutex_);
  remembered_.erase({run, op});
  for (uint64_t i = 0; i < event.tensor_count && !remembered_.empty(); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    const std::optional<MemorySpan> span = memory_span(tensor);
    if (tensor.storage == 0 || !span.has_value()) continue;
    for (auto& [key, tensors] : remembered_) {
      given_away_ += std::erase_if(tensors, [&](const RememberedTensor& old) {
        return old.storage() != 0 && old.storage() != tensor.storage && overlap(*memory_span(old.c()), *span);
      });
    }
  }
}

void WatchList::remember(uint64_t run, OpId op, const RememberedTensor& tensor) {
  const std::lock_guard lock(mutex_);
  remembered_[{run, op}].push_back(tensor);
}

std::vector<WatchList::Watched> WatchList::watched(uint64_t run) const {
  std::vector<Watched> found;
  const std::lock_guard lock(mutex_);
  for (auto it = remembered_.lower_bound({run, 0}); it != remembered_.end() && it->first.first == run; ++it) {
    for (const RememberedTensor& tensor : it->second) found.push_back({it->first.second, tensor});
  }
  return found;
}

RememberedTensor* WatchList::find(uint64_t run, const Watched& watched) {
  const auto found = remembered_.find({run, watched.op});
  if (found == remembered_.end()) return nullptr;
  const auto tensor = std::ranges::find_if(found->second, [&](const auto& one) { return same_slot(one, watched.tensor); });
  return tensor == found->second.end() ? nullptr : &*tensor;
}

bool WatchList::saw(uint64_t run, const Watched& watched, const Digest& digest) {
  const std::lock_guard lock(mutex_);
  ++looks_;
  const bool changed = digest.bytes != watched.tensor.seen.bytes;
  if (changed) ++changed_;
  if (RememberedTensor* tensor = find(run, watched)) tensor->seen = digest;
  return changed;
}

void WatchList::lost(uint64_t run, const Watched& watched) {
  const std::lock_guard lock(mutex_);
  ++unreadable_;
  const auto found = remembered_.find({run, watched.op});
  if (found != remembered_.end()) std::erase_if(found->second, [&](const auto& one) { return same_slot(one, watched.tensor); });
}

void WatchList::end_run(uint64_t run) {
  const std::lock_guard lock(mutex_);
  remembered_.erase(remembered_.lower_bound({run, 0}), remembered_.upper_bound({run, kNoOp}));
}

OpId WatchList::pseudo_op(OpId watcher, OpId watched) const {
  const std::lock_guard lock(mutex_);
  const auto found = pseudo_ops_.find({watcher, watched});
  return found == pseudo_ops_.end() ? kNoOp : found->second;
}

void WatchList::set_pseudo_op(OpId watcher, OpId watched, OpId pseudo) {
  const std::lock_guard lock(mutex_);
  pseudo_ops_[{watcher, watched}] = pseudo;
}

std::map<std::pair<OpId, OpId>, OpId> WatchList::pseudo_ops() const {
  const std::lock_guard lock(mutex_);
  return pseudo_ops_;
}

Json WatchList::report() const {
  const std::lock_guard lock(mutex_);
  return {{"looks", looks_}, {"changed", changed_}, {"given_away", given_away_}, {"unreadable", unreadable_}};
}

}  // namespace tensortap
