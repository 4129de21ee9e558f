#include "session/op_table.h"

#include <algorithm>
#include <tuple>

#include "base/flag_lock.h"
#include "base/text.h"
#include "trace/scoped_name.h"

namespace tensortap {

uint32_t CallCounter::last(const Key& key, int64_t step) {
  const FlagLock lock(lock_);
  const auto found = std::ranges::find(counts_, key, &Count::key);
  return found == counts_.end() || found->step != step || found->calls == 0 ? 0 : found->calls - 1;
}

uint32_t CallCounter::next(const Key& key, int64_t step) {
  const FlagLock lock(lock_);
  auto found = std::ranges::find(counts_, key, &Count::key);
  if (found == counts_.end()) {
    if (counts_.size() >= kMostRuns) counts_.pop_back();
    found = counts_.insert(counts_.end(), {key, step, 0});
  }
  if (found->step != step) {
    found->step = step;
    found->calls = 0;
  }
  const uint32_t call = found->calls++;
  std::rotate(counts_.begin(), found, found + 1);
  return call;
}

OpTable::~OpTable() {
  for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

OpId OpTable::add(OpInfo info) {
  const uint32_t id = count_.load(std::memory_order_relaxed);
  if (id >= kChunk * kChunks) return kNoOp;
  std::string name = info.name;
  for (int number = 2; !names_.insert(name).second; ++number) name = concat(info.name, "#", number);
  info.name = std::move(name);
  auto& chunk = chunks_[id / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new OpEntry[kChunk], std::memory_order_relaxed);
  OpEntry& entry = chunk.load(std::memory_order_relaxed)[id % kChunk];
  entry.place = is_pseudo_op(info) ? next_place_ : next_place_++;
  entry.info = std::move(info);
  count_.store(id + 1, std::memory_order_release);
  return id;
}

bool OpTable::Before::operator()(const OpDecision& a, const OpDecision& b) const {
  const auto members = [](const OpDecision& one) {
    return std::tie(one.wanted, one.inputs, one.outputs, one.weights, one.watcher, one.outputs_for_consumers, one.output_slots,
                    one.excluded_inputs, one.excluded_outputs);
  };
  return members(a) < members(b);
}

void OpTable::decide(OpEntry& entry, uint8_t generation, OpDecision decision) {
  const OpDecision& kept = *decisions_.insert(std::move(decision)).first;
  entry.decisions[generation].store(&kept, std::memory_order_release);
}

}  // namespace tensortap
