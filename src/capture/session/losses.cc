#include "session/losses.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr std::array kLimits = {loss::kPoolStatsOnly, loss::kPoolDropped, loss::kMaxBytes, loss::kMaxRecords};
constexpr std::array kUnsupported = {loss::kCollision, loss::kWatchedGone, loss::kReadGone,  loss::kUnknownOp,
                                     loss::kMalformed, loss::kRank,        loss::kWideShape, loss::kUnknownType};

}  // namespace

LossKind loss_kind(std::string_view reason) {
  if (std::ranges::find(kLimits, reason) != kLimits.end()) return LossKind::kLimit;
  return std::ranges::find(kUnsupported, reason) != kUnsupported.end() ? LossKind::kUnsupported : LossKind::kFailure;
}

std::string_view loss_kind_name(LossKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"limit", "unsupported", "failure"};
  return kNames[static_cast<size_t>(kind)];
}

Losses::Entry& Losses::entry_of(std::string_view reason) {
  const auto found = entries_.find(reason);
  return found != entries_.end() ? found->second : entries_[std::string(reason)];
}

uint64_t Losses::total() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [reason, entry] : entries_) sum += entry.count;
  return sum;
}

uint64_t Losses::count(std::string_view reason) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(reason);
  return found == entries_.end() ? 0 : found->second.count;
}

Json Losses::to_json() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string_view, const Entry*>> sorted;
  for (const auto& [reason, entry] : entries_) sorted.emplace_back(reason, &entry);
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  Json list = Json::array();
  for (const auto& [reason, entry] : sorted) {
    list.push_back(
        {{"reason", reason}, {"kind", loss_kind_name(loss_kind(reason))}, {"count", entry->count}, {"examples", entry->examples}});
  }
  return list;
}

}  // namespace tensortap
