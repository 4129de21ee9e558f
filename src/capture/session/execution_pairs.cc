#include "session/execution_pairs.h"

#include <algorithm>

namespace tensortap {
namespace {

bool fits(const ExecutionKey& begun, const ExecutionKey& ends) {
  if (begun.run != ends.run || begun.step != ends.step || begun.phase != ends.phase || begun.number != ends.number) return false;
  return begun.number != 0 || begun.thread == ends.thread;
}

}  // namespace

void ExecutionPairs::begin(const ExecutionKey& key, const Execution& execution) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) waiting_.erase(waiting_.begin());
  waiting_.push_back({key, execution});
  count_.store(static_cast<uint32_t>(waiting_.size()), std::memory_order_release);
}

std::optional<Execution> ExecutionPairs::end(const ExecutionKey& key) {
  if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const Waiting& one) { return fits(one.key, key); });
  if (found == waiting_.rend()) return std::nullopt;
  const Execution execution = found->execution;
  waiting_.erase(std::next(found).base());
  count_.store(static_cast<uint32_t>(waiting_.size()), std::memory_order_release);
  return execution;
}

}  // namespace tensortap
