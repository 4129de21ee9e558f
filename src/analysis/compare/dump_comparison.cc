#include "compare/dump_comparison.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "compare/results.h"
#include "compare/tolerance_model.h"
#include "query/record_lookup.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr double kOtherCells = 0.5;  // relative L2 of scores of other tokens

constexpr size_t kMostAncestors = 512;  // that are looked at behind one value
constexpr size_t kRowsBetweenProgress = 256;

// Never 0 for what differs.
float stored_error(const ComparedValue& value) {
  if (is_alike(value.verdict)) return 0;
  return std::max(static_cast<float>(value.error), std::numeric_limits<float>::min());
}

// What only one program has on the way to a value that is out may be what is wrong: it is not fused, removed or done in another way.
void doubt(std::vector<Unpaired>& unpaired, std::array<size_t, kAbsences>& counts, const std::vector<ValueId>& leads_to,
           const PairingKeys& keys) {
  for (Unpaired& one : unpaired) {
    if (leads_to[one.id] == kNoValue || one.why == Absence::kUnexplained || one.why == Absence::kRuntime) continue;
    --counts[static_cast<size_t>(one.why)];
    ++counts[static_cast<size_t>(Absence::kUnexplained)];
    one.why = Absence::kUnexplained;
    one.by = keys.table().op(leads_to[one.id]).name;
  }
}

size_t shared_identities(const PairingKeys& one, const std::unordered_set<std::string>& other) {
  size_t shared = 0;
  for (ValueId id = 0; id < one.table().values().size(); ++id) shared += other.contains(one.identity(id)) ? 1 : 0;
  return shared;
}

// What the op behind a row read, and what these show or move.
std::vector<uint32_t> read_and_shown(const ValueTable& table, uint32_t row) {
  constexpr size_t kMostShown = 32;
  std::vector<uint32_t> rows = table.inputs_of(row);
  for (size_t i = 0; i < rows.size() && rows.size() < kMostShown; ++i) {
    if (rows[i] == kNoRow || !PairingKeys::hands_on(op_of(table.dump(), table.dump().rows()[rows[i]]))) continue;
    const std::vector<uint32_t> before = table.inputs_of(rows[i]);
    rows.insert(rows.end(), before.begin(), before.end());
  }
  return rows;
}

// Whether no value that one read is paired with one that the other read: they are no pair, since one program makes fewer calls of that name
// in the step. `partners` are the rows of A by row of B.
bool read_others(const ValueTable& a, uint32_t row_a, const ValueTable& b, uint32_t row_b, const std::vector<uint32_t>& partners) {
  const std::vector<uint32_t> of_a = read_and_shown(a, row_a);
  bool any = false;
  for (const uint32_t row : read_and_shown(b, row_b)) {
    if (row == kNoRow || partners[row] == kNoRow) continue;
    if (std::ranges::find(of_a, partners[row]) != of_a.end()) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::string_view birth_name(Birth birth) {
  constexpr std::array<std::string_view, 5> kNames = {"", "born", "inherited", "given", "unknown"};
  return kNames[static_cast<size_t>(birth)];
}

DumpComparison::DumpComparison(const DumpIndex& a, const DumpIndex& b, ComparisonOptions options)
    : options_(std::move(options)),
      steps_(choose_steps(a, b, options_.steps)),
      a_(a, steps_.only_a),
      b_(b, steps_.only_b),
      keys_a_(a_),
      keys_b_(b_),
      facts_b_(b),
      rounded_otherwise_(sums_are_rounded_otherwise(a, b)) {}

Result<std::unique_ptr<DumpComparison>> DumpComparison::make(const DumpIndex& a, const DumpIndex& b, ComparisonOptions options) {
  std::unique_ptr<DumpComparison> made(new DumpComparison(a, b, std::move(options)));
  TENSORTAP_RETURN_IF_ERROR(made->pair());
  made->explain();
  made->measure_noise();
  made->find_partners();
  return made;
}

ToleranceRule DumpComparison::rule_of(ValueId a) const {
  if (options_.rules == nullptr) return {};
  const Value& value = a_.at(a);
  return options_.rules->of(concat(a_.op(a).name, ":", slot_name(value.kind, value.slot)));
}

Status DumpComparison::pair() {
  alignment_ = std::make_unique<Alignment>(a_, b_, steps_);
  PairingOptions options;
  options.progress = options_.progress;
  TENSORTAP_ASSIGN_OR_RETURN(options.map, mapped_values(options_.map, options_.map_name, a_, b_));
  const ValueJudge judge(a_, b_, *alignment_, [this](ValueId a) { return rule_of(a); });
  pairing_ = pair_values(keys_a_, keys_b_, judge, options);
  tolerances_ = model_tolerances(keys_a_, keys_b_, pairing_);
  const bool any = std::ranges::any_of(pairing_.pairs, [this](const ValuePair& pair) { return !b_.at(pair.b).given; });
  if (pairing_.pairs.empty() || steps_.none_beside() || (!any && a_.made() > 0 && b_.made() > 0)) {
    return corrupt("nothing that an op of one dump made is in the other: no value could be paired");
  }
  return {};
}

void DumpComparison::explain() {
  const auto not_compared = [](const ValueTable& table, bool of_a, const Alignment& alignment) {
    return [&table, of_a, &alignment](const Unpaired& one) {
      return of_a ? !alignment.takes_part_of_a(table.at(one.id)) : !alignment.takes_part_of_b(table.at(one.id));
    };
  };
  unpaired_a_ = explain_unpaired(keys_a_, pairing_.pair_of_a, keys_b_, pairing_.pair_of_b, pairing_.pairs);
  unpaired_b_ = explain_unpaired(keys_b_, pairing_.pair_of_b, keys_a_, pairing_.pair_of_a, pairing_.pairs);
  std::erase_if(unpaired_a_, not_compared(a_, true, *alignment_));
  std::erase_if(unpaired_b_, not_compared(b_, false, *alignment_));
  for (const Unpaired& one : unpaired_a_) ++summary_.absent_a[static_cast<size_t>(one.why)];
  for (const Unpaired& one : unpaired_b_) ++summary_.absent_b[static_cast<size_t>(one.why)];
  for (const ValuePair& pair : pairing_.pairs) {
    if (a_.at(pair.a).given) continue;
    ++summary_.paired;
    ++summary_.by_rule[static_cast<size_t>(pair.rule)];
  }
  count_results();
  summary_.values_a = summary_.paired + unpaired_a_.size();
  summary_.values_b = summary_.paired + unpaired_b_.size();
}

void DumpComparison::count_results() {
  const Results of_a(keys_a_);
  const Results of_b(keys_b_);
  for (const ValuePair& pair : pairing_.pairs) {
    summary_.results_a.paired += of_a.contains(pair.a) ? 1 : 0;
    summary_.results_b.paired += of_b.contains(pair.b) ? 1 : 0;
  }
  const auto count_open = [](const std::vector<Unpaired>& unpaired, ComparisonSummary::ResultCount& count) {
    for (const Unpaired& one : unpaired) {
      if (one.is_open_end && count.open++ == 0) count.first_open = one.id;
    }
  };
  count_open(unpaired_a_, summary_.results_a);
  count_open(unpaired_b_, summary_.results_b);
}

void DumpComparison::measure_noise() {
  if (!options_.noise.empty()) floors_.assign(b_.dump().rows().size(), std::numeric_limits<float>::quiet_NaN());
  for (const NoiseDump& noise : options_.noise) add_noise(noise);
}

// Compares a dump of noise with the dump of the same program, and notes how far their values differ.
void DumpComparison::add_noise(const NoiseDump& noise) {
  const ValueTable table(*noise.dump);
  const PairingKeys keys(table);
  std::unordered_map<std::string, ValueId> by_identity;
  std::unordered_set<std::string> identities;
  for (ValueId id = 0; id < table.values().size(); ++id) {
    by_identity.emplace(keys.identity(id), id);
    identities.insert(keys.identity(id));
  }
  const bool of_b = noise.of == NoiseDump::Of::kEither ? shared_identities(keys_b_, identities) >= shared_identities(keys_a_, identities)
                                                       : noise.of == NoiseDump::Of::kB;
  const PairingKeys& reference = of_b ? keys_b_ : keys_a_;
  const Alignment alignment(table, reference.table(), choose_steps(*noise.dump, reference.table().dump(), {}));
  size_t done = 0;
  for (const ValuePair& pair : pairing_.pairs) {
    if (options_.progress) options_.progress("noise", done++, pairing_.pairs.size());
    const ValueId id = of_b ? pair.b : pair.a;
    const auto found = by_identity.find(reference.identity(id));
    if (found == by_identity.end()) continue;
    std::unordered_map<uint32_t, uint32_t> beside;  // row of the reference to row of B
    for (const auto& [row_a, row_b] : alignment_->rows(a_.at(pair.a), b_.at(pair.b))) beside[of_b ? row_b : row_a] = row_b;
    const QuantisedValue quantised = quantised_value(reference, id);
    const DifferenceOptions as_codes{.tolerance = {}, .a = quantised.view(), .b = quantised.view(), .permutation = {}};
    for (const auto& [row_noise, row] : alignment.rows(table.at(found->second), reference.table().at(id))) {
      const auto row_b = beside.find(row);
      if (row_b == beside.end()) continue;
      const RowDifference difference = compare_rows(*noise.dump, row_noise, reference.table().dump(), row, {}, as_codes);
      if (!difference.data) continue;
      float& floor = floors_[row_b->second];
      const auto error = static_cast<float>(difference.data->relative_l2);
      floor = std::isnan(floor) ? error : std::max(floor, error);
    }
  }
}

void DumpComparison::find_partners() {
  partner_.assign(b_.dump().rows().size(), kNoRow);
  errors_.assign(b_.dump().rows().size(), std::numeric_limits<float>::quiet_NaN());
  born_.assign(b_.dump().ops().size(), false);
  for (const ValuePair& pair : pairing_.pairs) {
    const auto beside = alignment_->rows(a_.at(pair.a), b_.at(pair.b));
    first_rows_.push_back(beside.empty() ? kNoRow : beside.front().second);
    for (const auto& [row_a, row_b] : beside) partner_[row_b] = row_a;
    rules_.push_back(rule_of(pair.a));
    quantised_.emplace_back(quantised_value(keys_a_, pair.a), quantised_value(keys_b_, pair.b));
    // Codes against codes of unknown meaning are compared as they are; so are codes against numbers.
    if (quantised_.back().first.scale.empty() != quantised_.back().second.scale.empty()) quantised_.back() = {};
  }
  out_pairs_.assign(pairing_.pairs.size(), false);
  judge_ = std::make_unique<LocalJudge>(keys_a_, keys_b_, partner_, options_.allow);
}

void DumpComparison::run(const std::function<void(const ComparedValue&)>& visit) {
  size_t done = 0;
  for (const size_t row : rows_in_time_order(b_.dump())) {
    if (options_.stop != nullptr && *options_.stop) return;
    if (options_.progress && done++ % kRowsBetweenProgress == 0) options_.progress("comparing", done, b_.dump().rows().size());
    const auto row_b = static_cast<uint32_t>(row);
    if (partner_[row_b] == kNoRow) continue;
    ComparedValue value = compare(row_b);
    if (value.verdict != Verdict::kNotComparable) errors_[row_b] = stored_error(value);
    find_birth(value);
    count(value);
    if (is_outside(value.verdict) || value.judgement.finding == Finding::kOtherSize) out_pairs_[value.pair] = true;
    visit(value);
  }
  if (!summary_.culprit) summary_.culprit = summary_.given_culprit;
  doubt(unpaired_a_, summary_.absent_a, what_leads_to(keys_a_, pairing_.pair_of_a, out_pairs_), keys_a_);
  doubt(unpaired_b_, summary_.absent_b, what_leads_to(keys_b_, pairing_.pair_of_b, out_pairs_), keys_b_);
  if (!summary_.other_shape && summary_.culprit) {
    const Judgement& judgement = summary_.culprit->judgement;
    summary_.other_shape = first_other_shape(keys_a_, judgement.between_a, keys_b_, judgement.between_b);
  }
}

ComparedValue DumpComparison::compare(uint32_t row_b) {
  ComparedValue value;
  value.row_a = partner_[row_b];
  value.row_b = row_b;
  value.pair = pairing_.pair_of_b[b_.value_of(row_b)];
  ValuePair& pair = pairing_.pairs[value.pair];
  const RecordRow& of_a = a_.dump().rows()[value.row_a];
  const RecordRow& of_b = b_.dump().rows()[row_b];
  value.rule = rules_[value.pair];
  value.basis = {options_.rules != nullptr, tolerances_[value.pair].at(of_b.call), floors_.empty() ? std::nan("") : double{floors_[row_b]}};
  RowDifference difference;
  const bool other_size = of_a.numel != of_b.numel && !is_possible(pair.accepted.order.arrangement, of_a.desc(), of_b.desc());
  if (other_size) difference.data = compare_last_place(a_.dump(), value.row_a, b_.dump(), row_b, value.rule);
  if (other_size && !difference.data) {
    value.reason = concat(of_a.numel, " elements of A against ", of_b.numel, " of B");
    const LocalJudge::Pair rows{value.row_a, row_b, 0, 0, false};
    const bool is_other = is_position(value) || (first_rows_[value.pair] != row_b && read_others(a_, value.row_a, b_, row_b, partner_));
    value.other_place = is_other;
    value.judgement =
        is_other ? judge_->note(rows, 0, Finding::kNone) : judge_->note(rows, std::numeric_limits<double>::infinity(), Finding::kOtherSize);
    return value;
  }
  const QuantisedValue& quantised_a = quantised_[value.pair].first;
  const QuantisedValue& quantised_b = quantised_[value.pair].second;
  const bool plain = quantised_a.scale.empty() && quantised_b.scale.empty();
  if (plain && !other_size && pair.accepted.first && first_rows_[value.pair] == row_b) {
    difference.data = std::exchange(pair.accepted.first, std::nullopt);
  } else if (!other_size) {
    difference = compare_rows(a_.dump(), value.row_a, b_.dump(), row_b, pair.accepted.order,
                              {.tolerance = value.rule, .a = quantised_a.view(), .b = quantised_b.view(), .permutation = {}});
  }
  const bool of_cells = pair.accepted.order.arrangement.kind == Arrangement::Kind::kFirstCells && of_a.numel != of_b.numel;
  if (of_cells && difference.data && !(difference.data->relative_l2 <= kOtherCells)) {
    if (auto moved = compare_cells_in_use(a_.dump(), value.row_a, b_.dump(), row_b, value.rule)) difference.data = *std::move(moved);
  }
  if (difference.data) {
    value.data = difference.data;
    value.error = value.data->nonfinite_differing > 0 ? std::numeric_limits<double>::infinity() : value.data->relative_l2;
    judge(value);
    return value;
  }
  if (!difference.failure.ok()) {
    value.reason = difference.failure.message();
    value.unreadable = difference.unreadable;
    if (!value.unreadable) return value;
  }
  const StatisticsDifference statistics = compare_statistics(of_a, of_b, rounded_otherwise_);
  if (!statistics.any_known) {
    if (value.reason.empty()) value.reason = "neither data nor statistics of both";
    return value;
  }
  value.statistics = statistics;
  value.error = statistics.nonfinite_differs ? std::numeric_limits<double>::infinity() : largest_gap(statistics).largest;
  judge_statistics(value);
  return value;
}

// A file of tolerances or the noise sets the limits; otherwise the inputs of a value do.
void DumpComparison::judge(ComparedValue& value) {
  value.verdict = verdict_of(*value.data, value.basis);
  if (value.basis.by_rules) return;
  const bool noise = value.verdict == Verdict::kNoise;
  // Where nothing but near values made a pair, a small difference rather says that it is none.
  const PairRule rule = pairing_.pairs[value.pair].rule;
  const bool by_values = (rule == PairRule::kContent || rule == PairRule::kStatistics) && value.error <= kNearlyEqual;
  const bool no_finding = noise || by_values || (!is_alike(value.verdict) && is_position(value));
  value.judgement =
      judge_->judge({value.row_a, value.row_b, value.basis.relative_l2, tolerances_[value.pair].unit / 8, no_finding}, *value.data);
  if (noise || is_alike(value.verdict)) return;
  const Judgement& judgement = value.judgement;
  const bool is_out = judgement.finding != Finding::kNone || (judgement.follows && value.verdict == Verdict::kDifferent);
  value.basis.relative_l2 = judgement.allowed;
  if (value.verdict != Verdict::kNonFinite || judgement.never_read) value.verdict = is_out ? Verdict::kDifferent : Verdict::kTolerated;
}

// Whether a value tells where the last place of a larger one stands, as a number of tokens in a cache, or numbers that are counted up:
// all that reads it made that place, and it is the same.
bool DumpComparison::is_position(const ComparedValue& value) const {
  const RecordRow& of_b = b_.dump().rows()[value.row_b];
  const ValueId id = b_.value_of(value.row_b);
  const bool is_number = b_.at(id).given && of_b.numel == 1 && a_.dump().rows()[value.row_a].numel == 1;
  if ((!is_number && !keys_b_.is_constant(id)) || keys_b_.readers(id).empty()) return false;
  return std::ranges::all_of(keys_b_.readers(id), [&](const PairingKeys::Reader& reader) {
    const std::vector<uint32_t>& rows = b_.at(reader.value).rows;
    const auto row = std::ranges::find_if(rows, [&](uint32_t one) {
      const RecordRow& read = b_.dump().rows()[one];
      return read.step == of_b.step && read.sequence > of_b.sequence && partner_[one] != kNoRow;
    });
    if (row == rows.end() || a_.dump().rows()[partner_[*row]].numel == b_.dump().rows()[*row].numel) return false;
    const std::optional<Difference> place = compare_last_place(a_.dump(), partner_[*row], b_.dump(), *row, value.rule);
    return place && place->differing == 0;
  });
}

void DumpComparison::judge_statistics(ComparedValue& value) {
  value.verdict = verdict_of(*value.statistics, value.basis, value.rule);
  if (value.basis.by_rules) return;
  const double error = is_alike(value.verdict) ? 0 : value.error;
  const bool given = b_.at(b_.value_of(value.row_b)).given;
  const Finding finding = !is_outside(value.verdict) ? Finding::kNone : given ? Finding::kWeights : Finding::kValue;
  value.judgement = judge_->note({value.row_a, value.row_b, value.basis.relative_l2, 0, false}, error, finding);
}

void DumpComparison::look_at_input(uint32_t input, Inherited& found, std::vector<uint32_t>& waiting) const {
  if (input == kNoRow) {
    found.complete = false;
    return;
  }
  const float error = errors_[input];
  if (std::isnan(error)) {
    const ValueId id = b_.value_of(input);
    // Weights that the runtime made of others have no pair, and are what they were made of.
    if (id != kNoValue && !b_.at(id).given) waiting.push_back(input);
    return;
  }
  if (error == 0) return;
  const ValueId id = b_.value_of(input);
  const RecordRow& row = b_.dump().rows()[input];
  if (id != kNoValue && b_.at(id).given && (is_weight_op(op_of(b_.dump(), row)) || facts_b_.is_parameter(row))) {
    found.weight = input;
    return;
  }
  found.differs = true;
  if (error <= found.error) return;
  found.error = double{error};
  found.source = input;
}

// Through values that have no pair to the nearest that do.
DumpComparison::Inherited DumpComparison::inherited_by(uint32_t row_b) const {
  Inherited found;
  std::vector<uint32_t> waiting = {row_b};
  std::unordered_set<uint32_t> seen = {row_b};
  while (!waiting.empty() && seen.size() < kMostAncestors) {
    const uint32_t row = waiting.back();
    waiting.pop_back();
    for (const uint32_t input : b_.inputs_of(row)) {
      if (input == kNoRow || seen.insert(input).second) look_at_input(input, found, waiting);
    }
  }
  found.complete &= waiting.empty();
  return found;
}

void DumpComparison::find_birth(ComparedValue& value) const {
  if (is_alike(value.verdict) || value.verdict == Verdict::kNotComparable) return;
  const ValueId id = b_.value_of(value.row_b);
  if (b_.at(id).given) {
    value.birth = Birth::kGiven;
    return;
  }
  const Inherited inherited = inherited_by(value.row_b);
  value.inherited = inherited.error;
  value.source = inherited.source;
  value.weight = inherited.weight;
  if (inherited.differs) {
    value.birth = Birth::kInherited;
  } else if (b_.shows_input(value.row_b)) {
    // A view makes nothing.
    value.birth = inherited.weight == kNoRow ? Birth::kUnknown : Birth::kInherited;
  } else {
    value.birth = inherited.complete ? Birth::kBorn : Birth::kUnknown;
  }
}

}  // namespace tensortap
