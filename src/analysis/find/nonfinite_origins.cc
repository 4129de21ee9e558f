// The way back from NaN and Inf to the ops that made them, and which of them matter.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "find/nonfinite_counts.h"
#include "find/nonfinite_flow.h"
#include "find/nonfinite_origins.h"
#include "find/op_semantics.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr size_t kMostWalked = 300'000;  // steps over all chains; after that many, every further sighting counts as harmful
constexpr size_t kMostSteps = 10'000;    // of a chain; hostile dumps may hold rings of ops

class Origins {
 public:
  explicit Origins(const DumpIndex& dump) : dump_(dump), facts_(dump), lookup_(dump, facts_), holding_(holdings(dump)) {
    nonfinite_.resize(holding_.size());
    for (size_t row = 0; row < holding_.size(); ++row) {
      nonfinite_[row] = holding_[row] == Holding::kSome && !facts_.is_overwritten(dump.rows()[row]);
    }
  }

  [[nodiscard]] NonFiniteOrigin walk_back(size_t row) const;
  [[nodiscard]] NonFiniteFindings find(size_t limit) const;
  [[nodiscard]] std::vector<bool> harmful(std::span<const size_t> rows) const;

 private:
  static std::vector<Holding> holdings(const DumpIndex& dump) {
    std::vector<Holding> all(dump.rows().size());
    for (size_t row = 0; row < all.size(); ++row) all[row] = holding_of(dump, row);
    return all;
  }

  [[nodiscard]] const RecordRow& record(size_t row) const { return dump_.rows()[row]; }
  [[nodiscard]] bool has_nan(size_t row) const {
    const std::optional<TensorStats> stats = stats_with(dump_, row, kStatNonFinite);
    return stats && stats->nan > 0;
  }
  [[nodiscard]] bool goes_before(size_t row, size_t one, size_t other) const;
  size_t source_of(size_t input, OriginStep& step) const;
  [[nodiscard]] OriginStep look_back(size_t row, std::optional<size_t>& next) const;
  [[nodiscard]] bool is_mask(size_t row) const;
  [[nodiscard]] bool is_meant(const OriginStep& last) const;
  [[nodiscard]] bool came_from_outside(const NonFiniteOrigin& origin) const;
  [[nodiscard]] bool worked_on_uninitialised(const OriginStep& step) const;
  [[nodiscard]] OriginKind kind_of_end(const OriginStep& last, bool went_in_a_ring) const;
  void judge_intention(NonFiniteOrigin& origin) const;
  [[nodiscard]] bool made_pole(const OriginStep& last) const;
  [[nodiscard]] bool overflowed(const NonFiniteOrigin& origin) const;
  [[nodiscard]] bool is_wrongly_swallowed(const Sighting& sighting, const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const;
  [[nodiscard]] bool is_own_value(const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const;
  [[nodiscard]] bool alarms(const Sighting& sighting, const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const;
  struct Judged {
    std::vector<bool> matters;               // rows that something came of
    std::unordered_set<size_t> meant_badly;  // of them rows of intended infinities that are what is wrong
  };
  Judged judge(NonFiniteFindings& found) const;
  void find_seen(const NonfiniteFlow& flow, NonFiniteFindings& found, Judged& judged) const;
  [[nodiscard]] bool is_origin(size_t row) const;
  void find_origins(size_t limit, const Judged& judged, NonFiniteFindings& found) const;

  const DumpIndex& dump_;
  const OpFactsTable facts_;
  const RecordLookup lookup_;
  const std::vector<Holding> holding_;
  std::vector<bool> nonfinite_;
};

// Which of two records that the op behind `row` read is followed: NaN is not made of infinities alone where there is NaN, then the earlier
// one.
bool Origins::goes_before(size_t row, size_t one, size_t other) const {
  if (has_nan(row) && has_nan(one) != has_nan(other)) return has_nan(one);
  return record(one).sequence < record(other).sequence;
}

// The output that the NaN or Inf of an input came from, as far as known; else the input.
size_t Origins::source_of(size_t input, OriginStep& step) const {
  if (const auto writer = lookup_.writer_of(input)) return *writer;
  const auto carried = lookup_.carried_from(input);
  if (carried) step.missing.emplace_back("the fused kernels between");
  return carried.value_or(input);
}

// Looks at what the op behind `row` read. `next` is the earliest read record that holds NaN or Inf.
OriginStep Origins::look_back(size_t row, std::optional<size_t>& next) const {
  OriginStep step;
  step.row = row;
  next.reset();
  for (const RecordLookup::Read& read : lookup_.reads_of(row)) {
    if (!read.row) {
      step.missing.push_back(read.value);
      if (!next) next = lookup_.carried_from(row);
      continue;
    }
    step.inputs.push_back(*read.row);
    if (holding_[*read.row] == Holding::kUnknown) step.missing.push_back(read.value);
    if (!nonfinite_[*read.row] || *read.row == row) continue;
    const size_t source = source_of(*read.row, step);
    if (source != row && (!next || goes_before(row, source, *next))) next = source;
  }
  return step;
}

// Nothing but -Inf and zeros, as in a mask that is added.
bool Origins::is_mask(size_t row) const {
  const std::optional<TensorStats> stats = stats_with(dump_, row, kStatNonFinite | kStatZero);
  return stats && stats->neg_inf > 0 && stats->zero + stats->neg_inf == record(row).numel;
}

// Whether infinities are intended: of an op that exists to make them, of a mask, or of a number that the program combines with a tensor.
bool Origins::is_meant(const OriginStep& last) const {
  const RecordRow& end = record(last.row);
  if (has_nan(last.row)) return false;
  if (facts_.of(end).intended) return true;
  if (!is_input(end)) return op_of(dump_, end).type == kInitializerType && (end.numel == 1 || is_mask(last.row));
  if (facts_.of(end).sees_value) return false;
  if (end.dims_count != 0) return is_mask(last.row);
  if (facts_.of(end).host_filled) return true;
  return std::ranges::any_of(lookup_.inputs_of(last.row), [&](size_t input) { return record(input).dims_count > 0; });
}

// No captured op made the infinities at the end of the way: they are data, and no fault by themselves.
bool Origins::came_from_outside(const NonFiniteOrigin& origin) const {
  const size_t end = origin.chain.back().row;
  const bool is_data = origin.kind == OriginKind::kWeight || origin.kind == OriginKind::kGraphInput || is_input(record(end));
  return is_data && !has_nan(end);
}

// Infinities that came from outside, or that an op made on purpose, are no fault. If NaN came of them on the way, the op that made the NaN
// is the origin.
void Origins::judge_intention(NonFiniteOrigin& origin) const {
  const bool meant = is_meant(origin.chain.back());
  if (!meant && !came_from_outside(origin)) return;
  const auto made =
      std::ranges::find_if(origin.chain.rbegin(), origin.chain.rend(), [&](const OriginStep& step) { return has_nan(step.row); });
  if (made == origin.chain.rend()) {
    origin.meant = meant;
    if (meant && origin.kind != OriginKind::kWeight) origin.kind = OriginKind::kIntended;
    return;
  }
  origin.chain.erase(made.base(), origin.chain.end());
  origin.kind = OriginKind::kOp;
  origin.certain = origin.chain.back().missing.empty() && (meant || origin.certain);
}

// Whether the infinities may be those of a division by zero or the like, which every type has.
bool Origins::made_pole(const OriginStep& last) const {
  const std::string& type = op_of(dump_, record(last.row)).type;
  if (has_poles(type)) return true;
  if (!may_divide(type)) return false;
  const auto has_no_zero = [&](size_t input) {
    const std::optional<TensorStats> stats = stats_with(dump_, input, kStatZero);
    return stats && stats->zero == 0;
  };
  if (std::ranges::all_of(last.inputs, has_no_zero)) return false;
  // A positive power keeps zeros.
  const std::optional<TensorStats> made = stats_with(dump_, last.row, kStatZero);
  return last.inputs.size() != 1 || !made || made->zero == 0;
}

bool Origins::overflowed(const NonFiniteOrigin& origin) const {
  if (origin.kind != OriginKind::kOp || !origin.certain || has_nan(origin.chain.back().row)) return false;
  const auto dtype = static_cast<DType>(record(origin.chain.back().row).dtype);
  const bool is_narrow = dtype == DType::kFloat16 || dtype == DType::kFloat8E5M2;
  return is_narrow && !made_pole(origin.chain.back());
}

// The true number is too large for the type, and the op made something of Inf that it would not have made of that number. A gradient
// scaler finds gradients that overflow, and skips their step.
bool Origins::is_wrongly_swallowed(const Sighting& sighting, const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const {
  const bool is_gradient = record(origin.chain.back().row).phase == static_cast<uint8_t>(Phase::kBackward);
  if (!origin.overflowed || !sighting.by || has_nan(sighting.row) || (is_gradient && flow.checks_gradients())) return false;
  const std::optional<TensorStats> read = stats_with(dump_, sighting.row, kStatNonFinite);
  // exp(-Inf) and its like are 0 as they should be; only what divides makes a wrong 0 of -Inf.
  return (read && read->pos_inf > 0) || may_divide(op_of(dump_, record(*sighting.by)).type);
}

bool Origins::worked_on_uninitialised(const OriginStep& step) const {
  if ((record(step.row).value_flags & kValueLeft) != 0) return true;
  return std::ranges::any_of(step.inputs, [&](size_t input) { return (record(input).flags & kRecordUnwritten) != 0; });
}

OriginKind Origins::kind_of_end(const OriginStep& last, bool went_in_a_ring) const {
  const RecordRow& end = record(last.row);
  const OpInfo& op = op_of(dump_, end);
  if (op.type == kInputType) return OriginKind::kGraphInput;
  if (op.type == kInitializerType || end.slot_kind == static_cast<uint8_t>(SlotKind::kWeight)) return OriginKind::kWeight;
  const bool made_here = !went_in_a_ring && !is_input(end) && end.op < dump_.ops().size();
  if (!made_here || !(last.missing.empty() || !last.inputs.empty())) return OriginKind::kUnknown;
  return worked_on_uninitialised(last) ? OriginKind::kUninitialised : OriginKind::kOp;
}

NonFiniteOrigin Origins::walk_back(size_t row) const {
  NonFiniteOrigin origin;
  std::unordered_set<size_t> seen;
  std::optional<size_t> next = row;
  while (next && seen.insert(*next).second && origin.chain.size() < kMostSteps) {
    const size_t here = *next;
    origin.chain.push_back(look_back(here, next));
  }
  const bool went_in_a_ring = next.has_value();
  origin.kind = kind_of_end(origin.chain.back(), went_in_a_ring);
  origin.certain = origin.chain.back().missing.empty() && !went_in_a_ring && origin.kind != OriginKind::kUnknown;
  judge_intention(origin);
  origin.overflowed = overflowed(origin);
  return origin;
}

// A value of the program's own, given or filled in, that came unchanged to where the program reads it.
bool Origins::is_own_value(const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const {
  const RecordRow& end = record(origin.chain.back().row);
  if (!is_input(end) && !facts_.of(end).intended) return false;
  return std::ranges::all_of(origin.chain, [&](const OriginStep& step) {
    return &step == &origin.chain.back() || is_input(record(step.row)) || flow.is_view(step.row);
  });
}

bool Origins::alarms(const Sighting& sighting, const NonFiniteOrigin& origin, const NonfiniteFlow& flow) const {
  const RecordRow& end = record(origin.chain.back().row);
  const bool meant = origin.meant;
  switch (sighting.sight) {
    case Sight::kLoss:
      return true;
    case Sight::kParameter:
      return is_input(end) || !is_own_value(origin, flow) || flow.is_read_as_parameter(sighting.row);
    case Sight::kHost:
    case Sight::kFailure: {
      const bool infinities_found = sighting.by_test && is_input(end) && !has_nan(sighting.row);
      return !meant && !infinities_found && (sighting.by_test || !is_own_value(origin, flow));
    }
    case Sight::kResult:
      if (origin.kind == OriginKind::kUninitialised && lookup_.is_carried_on(sighting.row)) return false;
      return !meant && !is_own_value(origin, flow) && !(flow.uses_gradients() && end.phase == static_cast<uint8_t>(Phase::kBackward));
    case Sight::kSwallowed:
      return is_wrongly_swallowed(sighting, origin, flow);
  }
  return true;
}

void Origins::find_seen(const NonfiniteFlow& flow, NonFiniteFindings& found, Judged& judged) const {
  size_t walked = 0;
  for (const Sighting& sighting : flow.sightings()) {
    if (judged.matters[sighting.row]) continue;
    if (walked > kMostWalked) {
      flow.mark_sources(sighting, judged.matters);
      continue;
    }
    NonFiniteOrigin origin = walk_back(sighting.row);
    walked += origin.chain.size();
    if (!alarms(sighting, origin, flow)) continue;
    flow.mark_sources(sighting, judged.matters);
    if (origin.meant) judged.meant_badly.insert(origin.chain.back().row);
    if (found.seen) continue;
    origin.reached = sight_name(sighting.sight);
    origin.swallowed_by = sighting.by;
    found.seen = std::move(origin);
  }
}

// Made here, and not passed on from what was read: that is an origin itself or leads to one. NaN may be made of infinities that are meant.
bool Origins::is_origin(size_t row) const {
  std::optional<size_t> earlier;
  static_cast<void>(look_back(row, earlier));
  if (!earlier || is_pseudo_op(op_of(dump_, record(row)))) return true;
  return has_nan(row) && !has_nan(*earlier) && walk_back(row).chain.size() == 1;
}

void Origins::find_origins(size_t limit, const Judged& judged, NonFiniteFindings& found) const {
  std::unordered_map<OpId, size_t> known;     // position among the origins
  std::unordered_set<uint64_t> known_memory;  // of values whose maker is unknown
  for (const size_t row : rows_in_time_order(dump_)) {
    if (!nonfinite_[row]) continue;
    const RecordRow& here = record(row);
    const bool harmless = found.judged && !judged.matters[row];
    const auto before = known.find(here.op);
    if (before != known.end() && (harmless || !found.origins[before->second].harmless)) continue;
    if ((before == known.end() && found.origins.size() >= limit) || !is_origin(row)) continue;
    if (is_input(here) && here.storage != 0 && !known_memory.insert(here.storage).second) continue;
    NonFiniteOrigin origin = walk_back(row);
    const bool meant = origin.meant && !judged.meant_badly.contains(row);
    origin.harmless = harmless || (found.judged && meant);
    if (before != known.end() && origin.harmless) continue;
    if (before != known.end()) {
      found.origins[before->second] = std::move(origin);
    } else {
      known.emplace(here.op, found.origins.size());
      found.origins.push_back(std::move(origin));
    }
  }
}

Origins::Judged Origins::judge(NonFiniteFindings& found) const {
  const NonfiniteFlow flow(dump_, lookup_, facts_, nonfinite_, holding_);
  found.judged = flow.knows_readers();
  Judged judged{std::vector<bool>(dump_.rows().size()), {}};
  find_seen(flow, found, judged);
  return judged;
}

NonFiniteFindings Origins::find(size_t limit) const {
  NonFiniteFindings found;
  const Judged judged = judge(found);
  find_origins(limit, judged, found);
  return found;
}

std::vector<bool> Origins::harmful(std::span<const size_t> rows) const {
  NonFiniteFindings found;
  const Judged judged = judge(found);
  std::vector<bool> answers;
  for (const size_t row : rows) {
    bool harms = nonfinite_[row] && (!found.judged || judged.matters[row]);
    // NaN is never there on purpose.
    if (harms && !has_nan(row)) {
      const NonFiniteOrigin origin = walk_back(row);
      const bool is_weight = !found.judged && origin.kind == OriginKind::kWeight && origin.chain.size() == 1;
      harms = !is_weight && (!origin.meant || judged.meant_badly.contains(origin.chain.back().row));
    }
    answers.push_back(harms);
  }
  return answers;
}

}  // namespace

NonFiniteOrigin trace_nonfinite(const DumpIndex& dump, size_t row) { return Origins(dump).walk_back(row); }

NonFiniteFindings find_nonfinite(const DumpIndex& dump, size_t limit) { return Origins(dump).find(limit); }

std::vector<bool> harmful_rows(const DumpIndex& dump, std::span<const size_t> rows) { return Origins(dump).harmful(rows); }

}  // namespace tensortap
