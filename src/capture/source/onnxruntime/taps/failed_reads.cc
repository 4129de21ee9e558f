#include "source/onnxruntime/taps/failed_reads.h"

#include <algorithm>
#include <utility>

#include "source/onnxruntime/model/weight_reader.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

// Indices, shapes, axes, scales: what ops fail on.
constexpr uint64_t kLargestKept = uint64_t{16} << 10;
constexpr uint64_t kMostKept = uint64_t{4} << 20;

// A large one gets the shape of the author's order alone.
Status in_order(const OpEntry& entry, const BlockedGraph& blocks, std::string& memory, TensorProto& data) {
  if (entry.blocked == nullptr) return {};
  if (data.raw.size() <= kLargestKept) return put_in_order(*entry.blocked, blocks.block, memory, data);
  data.dims = entry.blocked->dims;
  return {};
}

}  // namespace

FailedReads::FailedReads(const OpTable& ops, const BlockedGraph& blocks) : reads_(ops.entries.size()) {
  for (size_t entry = 0; entry < ops.entries.size(); ++entry) {
    const OpEntry& op = ops.entries[entry];
    for (size_t i = 0; i < op.producers.size(); ++i) {
      reads_[entry].push_back({op.producers[i], op.producer_slots[i], channels_read(blocks, *op.node, i)});
    }
  }
}

void FailedReads::keep(uint32_t entry, const TensorProto& data, uint64_t& room) {
  Weight& weight = weights_[entry];
  weight.dims = data.dims;
  if (data.element_type != kElementString && data.raw.size() <= std::min(kLargestKept, room)) {
    weight.values = data.raw;
    room -= weight.values.size();
  }
  weight.tensor.size = sizeof(weight.tensor);
  weight.tensor.dtype = dtype_number(data.element_type);
  weight.tensor.dims = weight.dims.data();
  weight.tensor.rank = static_cast<uint32_t>(weight.dims.size());
  weight.tensor.data = weight.values.empty() ? nullptr : weight.values.data();
  weight.tensor.element = -1;
}

void FailedReads::keep_weights(const OpTable& ops, const BlockedGraph& blocks, const std::string& folder) {
  WeightReader reader(folder);
  uint64_t room = kMostKept;
  for (uint32_t entry = 0; entry < ops.entries.size(); ++entry) {
    // A run may give another value for one that is overridable.
    if (ops.entries[entry].role != OpRole::kInitializer || ops.entries[entry].overridable) continue;
    auto data = reader.read(*ops.entries[entry].initializer);
    if (!data.ok()) continue;
    const TensorProto stored = *data;
    std::string memory;
    if (in_order(ops.entries[entry], blocks, memory, *data).ok()) keep(entry, *data, room);
    reader.release_memory(stored);
  }
}

std::unique_ptr<ValueKeeper> FailedReads::keeper_for(uint32_t entry, const OpTable& numbers) const {
  auto keeper = std::make_unique<ValueKeeper>(numbers);
  for (const Read& read : reads_[entry]) {
    if (read.producer != kNoEntry && !weights_.contains(read.producer)) keeper->want(read.producer, read.slot);
  }
  return keeper;
}

KeptReads FailedReads::reads_of(uint32_t entry, ValueKeeper* keeper) const {
  KeptReads kept;
  for (const Read& read : reads_[entry]) {
    ReadValue& input = kept.inputs.emplace_back();
    if (const auto weight = weights_.find(read.producer); weight != weights_.end()) {
      input.weight = &weight->second.tensor;
      continue;
    }
    if (keeper == nullptr || read.producer == kNoEntry) continue;
    kept.copies.push_back(keeper->take(read.producer, read.slot));
    input.value = kept.copies.back().get();
    input.channels = read.channels;
  }
  return kept;
}

}  // namespace tensortap::onnxruntime
