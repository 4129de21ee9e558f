// Where NaN and Inf went in a dump of a graph: every op is known, with what it reads and what the graph hands out.

#include <algorithm>

#include "find/nan_answers.h"
#include "find/nonfinite_flow.h"

namespace tensortap {
namespace {

// Who reads what, by the ops alone.
class GraphReaders {
 public:
  GraphReaders(const DumpIndex& dump, const RecordLookup& lookup) {
    for (OpId id = 0; id < dump.ops().size(); ++id) {
      const OpInfo& op = dump.ops()[id];
      for (const OpInput& input : op.inputs) {
        if (const auto made = lookup.producer_of(op, input)) readers_[key(made->first, made->second)].push_back(id);
      }
    }
  }

  [[nodiscard]] std::span<const OpId> of(const RecordRow& output) const {
    const auto found = readers_.find(key(output.op, output.slot_index));
    return found == readers_.end() ? std::span<const OpId>() : std::span<const OpId>(found->second);
  }

 private:
  static uint64_t key(OpId op, uint32_t slot) { return uint64_t{op} << 32U | slot; }
  std::unordered_map<uint64_t, std::vector<OpId>> readers_;
};

}  // namespace

// Ops that read what some record of NaN or Inf is a record of, and ops with a body that made some.
std::vector<bool> NonfiniteFlow::ops_to_look_at() const {
  const std::span<const OpInfo> ops = dump_.ops();
  std::vector<bool> made_some(ops.size());
  for (size_t row = 0; row < nonfinite_.size(); ++row) {
    if (nonfinite_[row] && dump_.rows()[row].op < ops.size()) made_some[dump_.rows()[row].op] = true;
  }
  std::vector<bool> wanted(ops.size());
  for (OpId id = 0; id < ops.size(); ++id) {
    const auto is_bad = [&](const OpInput& input) {
      const auto made = lookup_.producer_of(ops[id], input);
      return made && made_some[made->first];
    };
    wanted[id] = wanted[id] || made_some[id] || std::ranges::any_of(ops[id].inputs, is_bad);
    if (made_some[id] && ops[id].parent < ops.size()) wanted[ops[id].parent] = true;
  }
  return wanted;
}

void NonfiniteFlow::read_in_graph(size_t row) {
  const RecordRow& record = dump_.rows()[row];
  std::vector<size_t> bad;
  for (const RecordLookup::Read& read : lookup_.reads_of(row)) {
    if (read.row && nonfinite_[*read.row] && *read.row != row) bad.push_back(*read.row);
  }
  const auto execution = RecordLookup::execution_of(record);
  if (bad.empty() && !consumers_.contains(execution)) return;
  Consumer& consumer = consumers_[execution];
  for (const size_t input : bad) {
    if (std::ranges::find(consumer.bad, input) == consumer.bad.end()) consumer.bad.push_back(input);
  }
  consumer.outputs.push_back(row);
}

// The op of a body gives what the body hands out, in any round.
void NonfiniteFlow::give_to_parent(size_t row, const std::unordered_map<OpId, std::vector<size_t>>& outputs) {
  const RecordRow& record = dump_.rows()[row];
  const auto found = outputs.find(op_of(dump_, record).parent);
  const auto gives = [&](size_t output) {
    const RecordRow& given = dump_.rows()[output];
    return given.step == record.step && given.run == record.run && given.sequence > record.sequence;
  };
  const auto given = found == outputs.end() ? std::vector<size_t>::const_iterator() : std::ranges::find_if(found->second, gives);
  if (found == outputs.end() || given == found->second.end()) {
    see(row, Sight::kResult);
    return;
  }
  Consumer& consumer = consumers_[RecordLookup::execution_of(dump_.rows()[*given])];
  if (std::ranges::find(consumer.bad, row) == consumer.bad.end()) consumer.bad.push_back(row);
  if (consumer.outputs.empty()) consumer.outputs.push_back(*given);
}

void NonfiniteFlow::find_results(const std::vector<size_t>& order) {
  const std::span<const OpInfo> ops = dump_.ops();
  const GraphReaders readers(dump_, lookup_);
  std::unordered_set<uint64_t> taken;  // row and reader
  const auto pair_of = [&](size_t row, OpId reader) { return uint64_t{row} * ops.size() + reader; };
  std::unordered_set<std::string_view> graphs;  // that ran
  for (const RecordRow& record : dump_.rows()) graphs.insert(op_of(dump_, record).graph);
  for (const auto& [execution, consumer] : consumers_) {
    // An output whose counts were not kept may hold some.
    const bool is_known = std::ranges::none_of(consumer.outputs, [&](size_t row) { return holding_[row] == Holding::kUnknown; });
    for (const size_t input : consumer.bad) {
      if (is_known) taken.insert(pair_of(input, execution.op));
    }
  }
  std::unordered_set<OpId> weights;
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!nonfinite_[row] || !is_output(record) || record.op >= ops.size()) continue;
    // Readers of a weight are those of its first record.
    if (ops[record.op].type == kInitializerType && !weights.insert(record.op).second) continue;
    const bool handed_out = facts_.is_result(record) || (facts_.of(record).handed_out != 0 && record.slot_index >= 64);
    // A branch that was not taken reads nothing.
    const auto is_lost = [&](OpId reader) { return !taken.contains(pair_of(row, reader)) && graphs.contains(ops[reader].graph); };
    if ((handed_out && ops[record.op].graph.empty()) || std::ranges::any_of(readers.of(record), is_lost)) see(row, Sight::kResult);
  }
  for (const size_t row : NanAnswers(dump_, lookup_, facts_, nonfinite_).handed_out(order)) see(row, Sight::kResult, true);
}

void NonfiniteFlow::follow_graph(const std::vector<size_t>& order) {
  const std::vector<bool> wanted = ops_to_look_at();
  std::unordered_map<OpId, std::vector<size_t>> outputs;  // of ops with a body
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!is_output(record) || record.op >= wanted.size() || !wanted[record.op]) continue;
    read_in_graph(row);
    outputs[record.op].push_back(row);
  }
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!nonfinite_[row] || !is_output(record)) continue;
    if (!op_of(dump_, record).graph.empty() && facts_.is_result(record)) give_to_parent(row, outputs);
  }
  find_results(order);
}

}  // namespace tensortap
