#include "session/record_ring.h"

#include <algorithm>
#include <utility>

#include "base/flag_lock.h"
#include "base/json.h"

namespace tensortap {

PoolBuffer RecordRing::room_for(uint64_t bytes) {
  if (!pool_.can_hold(bytes)) return {};
  for (;;) {
    PoolBuffer buffer = pool_.acquire(bytes, PoolAccount::WhenFull::kGiveUp);
    if (!buffer.empty()) return buffer;
    Entry oldest;  // its buffers go back without the lock
    const FlagLock lock(busy_);
    if (entries_.empty()) return {};
    oldest = std::move(entries_.front());
    entries_.pop_front();
    ++let_go_;
  }
}

void RecordRing::push(QueuedRecord record) {
  const RecordRow row = record.row;
  Entry oldest;
  const FlagLock lock(busy_);
  // What an op read and what it made come in two events.
  const auto same = std::find_if(entries_.rbegin(), entries_.rend(), [&row](const Entry& entry) { return entry.is(row); });
  if (same != entries_.rend()) {
    same->records.push_back(std::move(record));
    return;
  }
  Entry& entry = entries_.emplace_back(Entry{row.op, row.run, row.step, row.call, {}});
  entry.records.push_back(std::move(record));
  if (entries_.size() <= most_ops_) return;
  oldest = std::move(entries_.front());
  entries_.pop_front();
}

void RecordRing::forget(const RecordRow& row) {
  std::deque<Entry> gone;  // buffers go back without the lock
  const FlagLock lock(busy_);
  const auto same = std::ranges::find_if(entries_, [&row](const Entry& entry) { return entry.is(row); });
  if (same == entries_.end()) return;
  gone.push_back(std::move(*same));
  entries_.erase(same);
}

std::vector<QueuedRecord> RecordRing::take() {
  std::vector<QueuedRecord> taken;
  const FlagLock lock(busy_);
  ++fired_;
  for (Entry& entry : entries_) {
    for (QueuedRecord& record : entry.records) {
      if (!claimed_.insert(record.row.sequence).second) continue;
      taken.push_back(std::move(record));
    }
  }
  entries_.clear();
  records_ += taken.size();
  return taken;
}

bool RecordRing::claim(uint64_t sequence) {
  const FlagLock lock(busy_);
  return claimed_.insert(sequence).second;
}

Json RecordRing::report() const {
  const FlagLock lock(busy_);
  return {{"ops", most_ops_}, {"fired", fired_}, {"records", records_}, {"let_go_for_memory", let_go_}};
}

}  // namespace tensortap
