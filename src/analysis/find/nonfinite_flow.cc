#include "find/nonfinite_flow.h"

#include <algorithm>

#include "find/op_semantics.h"

namespace tensortap {
namespace {

bool is_of(const RecordRow& row, Phase phase) { return row.phase == static_cast<uint8_t>(phase); }
bool holds_integers(const RecordRow& row) {
  const auto dtype = static_cast<DType>(row.dtype);
  return dtype != DType::kUndefined && !is_floating(dtype);
}

}  // namespace

std::string_view sight_name(Sight sight) {
  switch (sight) {
    case Sight::kHost:
      return "host";
    case Sight::kLoss:
      return "loss";
    case Sight::kFailure:
      return "failure";
    case Sight::kParameter:
      return "parameter";
    case Sight::kSwallowed:
      return "swallowed";
    case Sight::kResult:
      break;
  }
  return "result";
}

NonfiniteFlow::NonfiniteFlow(const DumpIndex& dump, const RecordLookup& lookup, const OpFactsTable& facts,
                             const std::vector<bool>& nonfinite, const std::vector<Holding>& holding)
    : dump_(dump), lookup_(lookup), facts_(facts), nonfinite_(nonfinite), holding_(holding) {
  knows_graph_ = !lookup.knows_memory() && facts.knows_graph();
  if (!knows_readers() || std::ranges::find(nonfinite, true) == nonfinite.end()) return;
  const std::vector<size_t> order = rows_in_time_order(dump);
  if (knows_graph_) {
    follow_graph(order);
  } else {
    follow_memory(order);
  }
  find_swallowed();
}

void NonfiniteFlow::follow_memory(const std::vector<size_t>& order) {
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (is_input(record)) {
      read(row);
    } else if (is_output(record)) {
      write(row);
    }
  }
  find_parameters(order);
  find_unread(order);
  find_unread_answers(order);
}

void NonfiniteFlow::read(size_t row) {
  const RecordRow& record = dump_.rows()[row];
  const OpFacts& facts = facts_.of(record);
  const Content content{record.storage, record.version};
  if (facts_.is_overwritten(record)) {
    replaced_.insert(content);
    return;
  }
  if (nonfinite_[row]) {
    Consumer& consumer = consumers_[RecordLookup::execution_of(record)];
    consumer.bad.push_back(row);
    if (facts.tests_value || record.stats.nan > 0) consumer.told_apart = consumer.told_apart.value_or(Answer{row, facts.tests_value});
    if ((record.flags & kRecordFailedOp) != 0) {
      see(row, Sight::kFailure);
    } else if (facts.sees_value) {
      see(row, Sight::kHost);
    } else if (facts.sees_loss && record.numel == 1) {
      see(row, Sight::kLoss);
    }
    return;
  }
  const auto found = told_apart_.find(content);
  if (found == told_apart_.end()) return;
  Consumer& consumer = consumers_[RecordLookup::execution_of(record)];
  consumer.answers.push_back(row);
  consumer.told_apart = consumer.told_apart.value_or(found->second);
  if (facts.sees_value) see(found->second.row, Sight::kHost, true);
}

void NonfiniteFlow::write(size_t row) {
  const RecordRow& record = dump_.rows()[row];
  const auto found = consumers_.find(RecordLookup::execution_of(record));
  if (found == consumers_.end()) return;
  Consumer& consumer = found->second;
  consumer.outputs.push_back(row);
  if (consumer.told_apart && record.storage != 0 && holds_answer(row, consumer))
    told_apart_.try_emplace({record.storage, record.version}, *consumer.told_apart);
}

// Real numbers do where the op read nothing else, but single numbers: a mask that is multiplied with other values makes no answer of these.
// How many are not NaN is what a mean of the others divides by, and no answer either.
bool NonfiniteFlow::holds_answer(size_t output, const Consumer& consumer) const {
  const std::span<const RecordRow> rows = dump_.rows();
  if (holds_integers(rows[output])) return true;
  return consumer.bad.empty() && !consumer.told_apart->tested && std::ranges::all_of(lookup_.inputs_of(output), [&](size_t input) {
           return rows[input].numel == 1 || facts_.is_overwritten(rows[input]) ||
                  std::ranges::find(consumer.answers, input) != consumer.answers.end();
         });
}

bool NonfiniteFlow::only_shows(const std::vector<size_t>& inputs, const std::vector<size_t>& outputs) const {
  const std::span<const RecordRow> rows = dump_.rows();
  return !outputs.empty() && std::ranges::all_of(outputs, [&](size_t output) {
    return std::ranges::any_of(inputs, [&](size_t input) {
      return rows[output].storage != 0 && rows[output].storage == rows[input].storage && rows[output].version == rows[input].version;
    });
  });
}

bool NonfiniteFlow::is_view(size_t output) const {
  const auto found = consumers_.find(RecordLookup::execution_of(dump_.rows()[output]));
  return found != consumers_.end() && only_shows(found->second);
}

// Whether an op computes with what it reads, and does not just show it or write over it.
bool NonfiniteFlow::uses(const RecordRow& input) const {
  const auto found = consumers_.find(RecordLookup::execution_of(input));
  return !facts_.is_overwritten(input) && found != consumers_.end() && !only_shows(found->second);
}

bool NonfiniteFlow::is_read_as_parameter(size_t row) const {
  return read_parameters_.contains({dump_.rows()[row].storage, dump_.rows()[row].version});
}

// If the source does not report which memory holds parameters, everything that an optimizer writes counts as a parameter.
void NonfiniteFlow::find_parameters(const std::vector<size_t>& order) {
  std::unordered_set<uint64_t> parameters;
  for (const RecordRow& record : dump_.rows()) {
    if (!facts_.is_parameter(record)) continue;
    parameters.insert(record.storage);
    if (uses(record)) read_parameters_.insert({record.storage, record.version});
  }
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!nonfinite_[row] || !is_output(record) || is_view(row)) continue;
    if (parameters.empty() ? is_of(record, Phase::kUpdate) : parameters.contains(record.storage)) see(row, Sight::kParameter);
  }
}

void NonfiniteFlow::find_unread(const std::vector<size_t>& order) {
  std::unordered_set<size_t> taken;
  const bool has_outputs = std::ranges::any_of(dump_.rows(), is_output);
  for (const auto& [execution, consumer] : consumers_) {
    if (consumer.bad.empty() || only_shows(consumer)) continue;
    for (const size_t input : consumer.bad) taken.insert(source_of(input));
    const OpFacts& facts = facts_.of(dump_.rows()[consumer.bad.front()]);
    const bool writes_back = std::ranges::any_of(consumer.outputs, [&](size_t row) { return nonfinite_[row]; });
    checks_gradients_ = checks_gradients_ || (facts.tests_value && writes_back);
    // What became of it was not captured.
    if (!has_outputs && !facts.sees_value) see(consumer.bad.front(), Sight::kResult);
  }
  uses_gradients_ = checks_gradients_ || std::ranges::any_of(dump_.rows(), [](const RecordRow& row) { return is_of(row, Phase::kUpdate); });
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!nonfinite_[row] || !is_output(record) || record.slot_index != 0 || taken.contains(row) || is_view(row)) continue;
    if ((record.value_flags & kValueLeft) != 0) continue;
    const bool for_optimizer = is_of(record, Phase::kUpdate) || (uses_gradients_ && is_of(record, Phase::kBackward));
    const bool replaced = replaced_.contains({record.storage, record.version});
    if (!for_optimizer && !replaced && !facts_.of(record).tests_value) see(row, Sight::kResult);
  }
}

// Answers about NaN, such as the index of the largest number, that no captured op read: the program may have returned them. Tests for NaN
// do not count: who asks knows.
void NonfiniteFlow::find_unread_answers(const std::vector<size_t>& order) {
  std::unordered_set<Content, RecordLookup::Hash> taken;
  const std::span<const RecordRow> rows = dump_.rows();
  for (const auto& [execution, consumer] : consumers_) {
    if (only_shows(consumer.answers, consumer.outputs)) continue;
    for (const size_t input : consumer.answers) taken.insert({rows[input].storage, rows[input].version});
  }
  for (const size_t row : order) {
    const Content content{rows[row].storage, rows[row].version};
    if (!is_output(rows[row]) || rows[row].slot_index != 0 || taken.contains(content) || replaced_.contains(content)) continue;
    const bool for_optimizer = is_of(rows[row], Phase::kUpdate) || (uses_gradients_ && is_of(rows[row], Phase::kBackward));
    const auto found = told_apart_.find(content);
    if (found != told_apart_.end() && !found->second.tested && !for_optimizer) see(found->second.row, Sight::kResult, true);
  }
}

// Only ops that give floating numbers swallow. Booleans and integers matter where the program reads them.
bool NonfiniteFlow::swallows(const Consumer& consumer) const {
  const std::span<const RecordRow> rows = dump_.rows();
  if (consumer.bad.empty() || only_shows(consumer)) return false;
  const auto is_finite = [&](size_t row) { return holding_[row] == Holding::kNone && (rows[row].flags & kRecordUnwritten) == 0; };
  const auto is_number = [&](size_t row) { return can_hold_nonfinite(rows[row]); };
  if (std::ranges::none_of(consumer.outputs, is_number) || !std::ranges::all_of(consumer.outputs, is_finite)) return false;
  return !bounds_or_chooses(op_of(dump_, rows[consumer.outputs.front()]).type);
}

void NonfiniteFlow::find_swallowed() {
  const auto first = static_cast<ptrdiff_t>(sightings_.size());
  for (const auto& [execution, consumer] : consumers_) {
    if (!swallows(consumer)) continue;
    for (const size_t input : consumer.bad) sightings_.push_back({input, Sight::kSwallowed, false, consumer.outputs.front()});
  }
  std::ranges::sort(sightings_.begin() + first, sightings_.end(), {},
                    [&](const Sighting& one) { return std::pair(dump_.rows()[one.row].sequence, one.row); });
}

void NonfiniteFlow::mark_sources(const Sighting& sighting, std::vector<bool>& marked) const {
  std::vector<size_t> next = {sighting.row};
  while (!next.empty()) {
    const size_t row = next.back();
    next.pop_back();
    if (marked[row]) continue;
    marked[row] = true;
    const RecordRow& record = dump_.rows()[row];
    if (is_input(record)) {
      next.push_back(source_of(row));
      if (const auto carried = lookup_.carried_from(row)) next.push_back(*carried);
      continue;
    }
    const auto found = consumers_.find(RecordLookup::execution_of(record));
    if (found != consumers_.end()) next.insert(next.end(), found->second.bad.begin(), found->second.bad.end());
  }
}

}  // namespace tensortap
