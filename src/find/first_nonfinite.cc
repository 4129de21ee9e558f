#include "find/first_nonfinite.h"

#include <algorithm>
#include <unordered_set>

#include "find/record_lookup.h"
#include "stats/stats.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr size_t kMostSeen = 100;      // values that are walked back from, where the first ones are intended
constexpr size_t kMostSteps = 10'000;  // of a chain; hostile dumps may hold rings of ops

// Statistics with counts of NaN and Inf: the record's own, or made from its data. Nothing when neither is there.
std::optional<TensorStats> counts_of(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  const uint32_t valid = record.stats.valid;
  const bool counted = (valid & kStatNonFinite) == kStatNonFinite;
  if (counted && (valid & kStatSampled) == 0) return record.stats;
  if ((record.flags & kRecordHasData) == 0) return counted ? std::optional(record.stats) : std::nullopt;
  const Result<RecordData> data = dump.data(row);
  if (!data.ok()) return counted ? std::optional(record.stats) : std::nullopt;
  StatsOptions options;
  options.wanted = kStatNonFinite;
  const TensorStats stats = compute_stats(data->view, options);
  return (stats.valid & kStatNonFinite) == kStatNonFinite ? std::optional(stats) : std::nullopt;
}

bool can_hold_nonfinite(const RecordRow& row) { return is_floating(static_cast<DType>(row.dtype)); }

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

// What is known about NaN and Inf in a record.
enum class Holding : uint8_t { kNone, kSome, kUnknown };

Holding holding_of(const DumpIndex& dump, size_t row) {
  if (!can_hold_nonfinite(dump.rows()[row]) || (dump.rows()[row].flags & kRecordUnwritten) != 0) return Holding::kNone;
  const std::optional<TensorStats> stats = counts_of(dump, row);
  if (!stats) return Holding::kUnknown;
  if (stats->nan + stats->pos_inf + stats->neg_inf > 0) return Holding::kSome;
  return (stats->valid & kStatSampled) != 0 ? Holding::kUnknown : Holding::kNone;
}

// Which of two records that the op behind `row` read is followed: NaN is not made of infinities alone where there is NaN, then the earlier one.
bool goes_before(const DumpIndex& dump, size_t row, size_t one, size_t other) {
  const std::span<const RecordRow> rows = dump.rows();
  if (rows[row].stats.nan > 0 && (rows[one].stats.nan > 0) != (rows[other].stats.nan > 0)) return rows[one].stats.nan > 0;
  return rows[one].sequence < rows[other].sequence;
}

// Looks at what the op behind `row` read. `next` is the earliest read record that holds NaN or Inf.
OriginStep look_back(const DumpIndex& dump, const RecordLookup& lookup, size_t row, std::optional<size_t>& next) {
  OriginStep step;
  step.row = row;
  next.reset();
  for (const RecordLookup::Read& read : lookup.reads_of(row)) {
    if (!read.row) {
      step.missing.push_back(read.value);
      continue;
    }
    step.inputs.push_back(*read.row);
    const Holding holding = holding_of(dump, *read.row);
    if (holding == Holding::kUnknown) step.missing.push_back(read.value);
    if (holding != Holding::kSome || *read.row == row) continue;
    const size_t source = lookup.writer_of(*read.row).value_or(*read.row);
    if (source != row && (!next || goes_before(dump, row, source, *next))) next = source;
  }
  return step;
}

// What an op that makes infinities on purpose has begun is no fault, unless NaN came of it on the way: then the op that made that is the origin.
void judge_intention(const DumpIndex& dump, NonFiniteOrigin& origin) {
  const auto has_nan = [&](const OriginStep& step) { return dump.rows()[step.row].stats.nan > 0; };
  const RecordRow& last = dump.rows()[origin.chain.back().row];
  if (has_nan(origin.chain.back()) || !attribute_is_set(op_of(dump, last), kIntendedInfinities)) return;
  const auto made = std::ranges::find_if(origin.chain.rbegin(), origin.chain.rend(), has_nan);
  if (made == origin.chain.rend()) {
    origin.kind = OriginKind::kIntended;
    return;
  }
  origin.chain.erase(made.base(), origin.chain.end());
  origin.kind = OriginKind::kOp;
}

NonFiniteOrigin walk_back(const DumpIndex& dump, const RecordLookup& lookup, size_t row) {
  NonFiniteOrigin origin;
  std::unordered_set<size_t> seen;
  std::optional<size_t> next = row;
  while (next && seen.insert(*next).second && origin.chain.size() < kMostSteps) {
    const size_t here = *next;
    origin.chain.push_back(look_back(dump, lookup, here, next));
  }
  const OriginStep& last = origin.chain.back();
  const RecordRow& record = dump.rows()[last.row];
  const OpInfo& op = op_of(dump, record);
  const bool went_in_a_ring = next.has_value();
  origin.certain = last.missing.empty() && !went_in_a_ring;
  const bool read_record = record.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  if (op.type == kInputType) {
    origin.kind = OriginKind::kGraphInput;
  } else if (op.type == kInitializerType || record.slot_kind == static_cast<uint8_t>(SlotKind::kWeight)) {
    origin.kind = OriginKind::kWeight;
  } else if (!went_in_a_ring && !read_record && record.op < dump.ops().size() && (last.missing.empty() || !last.inputs.empty())) {
    origin.kind = OriginKind::kOp;
  } else {
    origin.certain = false;
  }
  judge_intention(dump, origin);
  return origin;
}

// The rows that seen_nonfinite() may begin with, in the order of preference.
std::vector<size_t> rows_seen(const DumpIndex& dump) {
  std::vector<size_t> seen;
  std::vector<size_t> updated;
  std::vector<int8_t> sees(dump.ops().size(), -1);  // -1 = not asked yet
  for (const size_t row : rows_in_time_order(dump)) {
    const RecordRow& record = dump.rows()[row];
    if (record.op >= sees.size()) continue;
    int8_t& answer = sees[record.op];
    if (answer < 0) answer = attribute_is_set(dump.ops()[record.op], kSeesValue) ? 1 : 0;
    const bool looked_at = answer == 1 && record.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
    const bool parameter = record.phase == static_cast<uint8_t>(Phase::kUpdate);
    if ((looked_at || parameter) && holding_of(dump, row) == Holding::kSome) (looked_at ? seen : updated).push_back(row);
    if (seen.size() >= kMostSeen) break;
  }
  updated.resize(std::min(updated.size(), kMostSeen));
  seen.insert(seen.end(), updated.begin(), updated.end());
  return seen;
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
    case OriginKind::kUnknown:
      break;
  }
  return "unknown";
}

std::optional<NonFiniteRecord> nonfinite_in(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  if (!can_hold_nonfinite(record)) return std::nullopt;
  const std::optional<TensorStats> stats = counts_of(dump, row);
  if (!stats || stats->nan + stats->pos_inf + stats->neg_inf == 0) return std::nullopt;
  NonFiniteRecord found{row, stats->nan, stats->pos_inf, stats->neg_inf, {}, false};
  found.index_known = unravel(record, stats->first_nonfinite, found.index);
  return found;
}

std::optional<NonFiniteRecord> first_nonfinite(const DumpIndex& dump) {
  for (const size_t row : rows_in_time_order(dump)) {
    std::optional<NonFiniteRecord> found = nonfinite_in(dump, row);
    if (found) return found;
  }
  return std::nullopt;
}

NonFiniteOrigin trace_nonfinite(const DumpIndex& dump, size_t row) { return walk_back(dump, RecordLookup(dump), row); }

std::optional<NonFiniteOrigin> seen_nonfinite(const DumpIndex& dump) {
  const std::vector<size_t> rows = rows_seen(dump);
  if (rows.empty()) return std::nullopt;
  const RecordLookup lookup(dump);
  for (const size_t row : rows) {
    NonFiniteOrigin origin = walk_back(dump, lookup, row);
    if (origin.kind != OriginKind::kIntended) return origin;
  }
  return std::nullopt;
}

std::vector<NonFiniteOrigin> nonfinite_origins(const DumpIndex& dump, size_t limit) {
  const RecordLookup lookup(dump);
  std::vector<NonFiniteOrigin> origins;
  std::unordered_set<OpId> known;
  std::unordered_set<uint64_t> known_memory;  // of values that nobody is known to have made
  for (const size_t row : rows_in_time_order(dump)) {
    if (origins.size() >= limit) break;
    const RecordRow& record = dump.rows()[row];
    if (known.contains(record.op) || holding_of(dump, row) != Holding::kSome) continue;
    std::optional<size_t> earlier;
    static_cast<void>(look_back(dump, lookup, row, earlier));
    // Passed on from what it read, which is an origin itself or leads to one.
    if (earlier && !is_pseudo_op(op_of(dump, record))) continue;
    if (record.slot_kind == static_cast<uint8_t>(SlotKind::kInput) && record.storage != 0 && !known_memory.insert(record.storage).second)
      continue;
    known.insert(record.op);
    origins.push_back(walk_back(dump, lookup, row));
  }
  return origins;
}

}  // namespace tensortap
