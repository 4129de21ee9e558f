#include "find/nonfinite_origins.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_members.h"
#include "find/nonfinite_counts.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"

namespace tensortap {
namespace {

// The flat index as one number per dimension, last dimension fastest. False when the shape does not hold it.
bool unravel(const RecordRow& row, int64_t flat, std::vector<int64_t>& index) {
  const TensorDesc desc = row.desc();
  const std::optional<uint64_t> numel = desc.shape.numel();
  if (flat < 0 || !numel || static_cast<uint64_t>(flat) >= *numel) return false;
  index.assign(static_cast<size_t>(desc.shape.rank()), 0);
  for (int i = desc.shape.rank() - 1; i >= 0; --i) {
    index[static_cast<size_t>(i)] = flat % desc.shape[i];
    flat /= desc.shape[i];
  }
  return true;
}

}  // namespace

std::string_view origin_kind_name(OriginKind kind) {
  switch (kind) {
    case OriginKind::kOp:
      return "op";
    case OriginKind::kGraphInput:
      return "graph input";
    case OriginKind::kWeight:
      return "weight";
    case OriginKind::kIntended:
      return "intended";
    case OriginKind::kUninitialised:
      return "uninitialised memory";
    case OriginKind::kUnknown:
      break;
  }
  return "unknown";
}

std::optional<NonFiniteRecord> nonfinite_in(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  if (!can_hold_nonfinite(record)) return std::nullopt;
  const std::optional<TensorStats> stats = stats_with(dump, row, kStatNonFinite);
  if (!stats || stats->nan + stats->pos_inf + stats->neg_inf == 0) return std::nullopt;
  NonFiniteRecord found{row, stats->nan, stats->pos_inf, stats->neg_inf, {}, false};
  found.index_known = unravel(record, stats->first_nonfinite, found.index);
  return found;
}

size_t count_unknown(const DumpIndex& dump) {
  return static_cast<size_t>(std::ranges::count_if(dump.rows(), [](const RecordRow& row) {
    const bool counted = (row.stats.valid & kStatNonFinite) == kStatNonFinite && (row.stats.valid & kStatSampled) == 0;
    const bool whole = (row.flags & kRecordHasData) != 0 && !holds_part(row);
    const bool told_apart = (row.value_flags & kValueNotLookedAt) != 0 || (row.flags & kRecordUnwritten) != 0;
    return can_hold_nonfinite(row) && row.numel > 0 && !counted && !whole && !told_apart;
  }));
}

size_t count_not_looked_at(const DumpIndex& dump) {
  return static_cast<size_t>(
      std::ranges::count_if(dump.rows(), [](const RecordRow& row) { return (row.value_flags & kValueNotLookedAt) != 0; }));
}

uint64_t count_left_out(const DumpIndex& dump) {
  const Json manifest = manifest_json(dump);
  const Json* losses = member(manifest, "losses");
  if (losses == nullptr || !losses->is_array()) return 0;
  uint64_t lost = 0;
  for (const Json& loss : *losses) lost += text_in(loss, "kind") == "limit" ? count_in(loss, "count") : 0;
  // A record whose values alone were lost is in the dump with its counts.
  const auto counted = std::ranges::count_if(dump.rows(), [](const RecordRow& row) { return (row.flags & kRecordDataLost) != 0; });
  return lost - std::min(lost, static_cast<uint64_t>(counted));
}

std::optional<NonFiniteRecord> first_nonfinite(const DumpIndex& dump, bool with_weights) {
  const OpFactsTable facts(dump);
  for (const size_t row : rows_in_time_order(dump)) {
    const RecordRow& record = dump.rows()[row];
    const bool weight = record.phase == static_cast<uint8_t>(Phase::kLoad);
    const bool no_value = facts.is_overwritten(record) || (record.flags & kRecordUnwritten) != 0;
    if (no_value || (weight && !with_weights)) continue;
    if (std::optional<NonFiniteRecord> found = nonfinite_in(dump, row)) return found;
  }
  return std::nullopt;
}

}  // namespace tensortap
