#include "replay/recorded_op.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "replay/attribute_protos.h"
#include "replay/runtime_of_dump.h"
#include "trace/record_row.h"

namespace tensortap {
namespace {

constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";
constexpr int kBlockedRank = 4;
constexpr std::array<std::string_view, 6> kRandomTypes = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                          "RandomUniformLike", "Multinomial",      "Bernoulli"};
// Ops that ONNX Runtime leaves in the graph even when it knows all of their inputs: control flow, and quantised weights.
constexpr std::array<std::string_view, 4> kNotFolded = {"If", "Loop", "Scan", "DequantizeLinear"};
// For dumps from before `channel_block` was recorded: any size of a block leads to the same values.
constexpr uint32_t kSomeBlock = 16;

bool is_pseudo(const OpInfo& op) { return op.type == kInputType || op.type == kInitializerType; }

bool is_random(const OpInfo& op) { return std::ranges::find(kRandomTypes, op.type) != kRandomTypes.end(); }

bool makes_optional(const OpInfo& op) { return op.domain.empty() && op.type == "Optional"; }
// A record does not say whether its value was an optional.
bool reads_optional(const OpInfo& op) { return op.domain.empty() && (op.type == "OptionalGetElement" || op.type == "OptionalHasElement"); }

bool has_values(const RecordRow& row) { return (row.flags & kRecordHasData) != 0; }

// The ops whose output kernels treat as a weight: weights and, under a runtime that optimised the graph with its taps, also the outputs
// that it computed only from weights when it loaded the graph.
class Constants {
 public:
  explicit Constants(const DumpIndex& dump) : is_constant_(dump.ops().size()) {
    const bool folds = runtime_of(dump).optimization != "none";
    for (OpId id = 0; id < dump.ops().size(); ++id) {
      const OpInfo& op = dump.ops()[id];
      const bool weight = op.type == kInitializerType && !attribute_is_set(op, "overridable");
      is_constant_[id] = weight || op.type == "Constant" || (folds && is_folded(op));
    }
  }
  [[nodiscard]] bool has(OpId op) const { return is_constant_[op]; }

 private:
  // Ops stand behind those that they read from.
  [[nodiscard]] bool is_folded(const OpInfo& op) const {
    if (is_pseudo(op) || std::ranges::find(kNotFolded, op.type) != kNotFolded.end() || is_random(op)) return false;
    return !op.inputs.empty() && std::ranges::all_of(op.inputs, [this](const OpInput& input) {
      return input.producer < is_constant_.size() ? is_constant_[input.producer] : input.name.empty();
    });
  }

  std::vector<bool> is_constant_;
};

// Finds the executions and what they read.
class Finder {
 public:
  explicit Finder(const DumpIndex& dump)
      : dump_(dump),
        in_time_order_(rows_in_time_order(dump)),
        facts_(dump),
        lookup_(dump, facts_),
        constants_(dump),
        blocks_(dump.ops().size()) {
    learn_sequences();
    for (OpId id = 0; id < dump.ops().size(); ++id) {
      const OpInfo& op = dump.ops()[id];
      blocks_[id] = block_of(op);
      for (uint32_t slot = 0; slot < op.outputs.size(); ++slot) {
        if (!op.outputs[slot].empty()) makers_[op.outputs[slot]].push_back({id, slot});
      }
    }
  }

  std::vector<RecordedOp> find(const ReplaySelection& selection) {
    std::map<std::tuple<OpId, int64_t, uint64_t, uint32_t>, size_t> numbers;
    std::vector<RecordedOp> found;
    for (const size_t number : in_time_order_) {
      const RecordRow& row = dump_.rows()[number];
      if (!is_chosen(number, selection)) continue;
      const auto [place, is_new] = numbers.try_emplace({row.op, row.step, row.run, call_of(number)}, found.size());
      if (is_new) found.push_back(execution_of(static_cast<uint32_t>(number)));
      add_output(static_cast<uint32_t>(number), found[place->second]);
    }
    return found;
  }

 private:
  struct Maker {
    OpId op;
    uint32_t slot;
  };

  static uint32_t block_of(const OpInfo& op) {
    if (const uint32_t recorded = channel_block_of(op); recorded != 0) return recorded;
    return op.domain == kBlockedDomain && op.type != "ReorderOutput" ? kSomeBlock : 0;
  }

  [[nodiscard]] bool is_chosen(size_t number, const ReplaySelection& selection) const {
    const RecordRow& row = dump_.rows()[number];
    if (row.slot_kind != static_cast<uint8_t>(SlotKind::kOutput) || row.op >= dump_.ops().size()) return false;
    const OpInfo& op = dump_.ops()[row.op];
    if (is_pseudo(op) || row.phase == static_cast<uint8_t>(Phase::kLoad) || (row.flags & kRecordFailedOp) != 0) return false;
    return (selection.op.empty() || selection.op == op.name) && (!selection.step || *selection.step == row.step) &&
           (!selection.call || *selection.call == call_of(number));
  }

  RecordedOp execution_of(uint32_t number) {
    const RecordRow& row = dump_.rows()[number];
    const OpInfo& info = dump_.ops()[row.op];
    RecordedOp op;
    op.op = row.op;
    op.step = row.step;
    op.call = call_of(number);
    if (is_random(info)) {
      op.obstacle = "it draws random numbers";
      return op;
    }
    add_inputs(number, op);
    if (blocks_[op.op] != 0 && info.type == "Reshape" && info.originals.empty()) {
      fail(op, "it only shows an image in blocks of channels with other dimensions");
    }
    op.broadcasts = info.domain != kBlockedDomain && reads_other_sizes(op);
    if (op.broadcasts) {
      for (RecordedInput& input : op.inputs) input.block = 0;
    }
    const Result<NodeAttributes> attributes = node_attributes(info, dump_.attribute_bytes());
    if (!attributes.ok() && op.obstacle.empty()) op.obstacle = attributes.status().message();
    if (!attributes.ok()) return op;
    for (const std::string& name : attributes->outer_names) add_outer(name, row, op);
    for (const std::string& name : attributes->weight_names) add_weight(name, row, op);
    return op;
  }

  void add_inputs(uint32_t number, RecordedOp& op) {
    const OpInfo& info = dump_.ops()[op.op];
    const std::vector<RecordLookup::Read> reads = lookup_.reads_of(number);
    size_t next = 0;  // reads_of() leaves out what the op does not have
    for (uint32_t slot = 0; slot < info.inputs.size(); ++slot) {
      const OpInput& input = info.inputs[slot];
      RecordedInput& recorded = op.inputs.emplace_back();
      if (input.name.empty() && input.producer == kNoOp) continue;
      const std::optional<size_t> row = next < reads.size() ? reads[next].row : std::nullopt;
      ++next;
      take(row, concat("in", slot), input.producer, recorded, op);
      recorded.optional = reads_optional(info);
    }
  }

  // Whether it reads images in blocks of several sizes. The runtime gives it these with a dimension more.
  [[nodiscard]] bool reads_other_sizes(const RecordedOp& op) const {
    const RecordRow* first = nullptr;
    for (const RecordedInput& input : op.inputs) {
      if (input.block == 0 || !input.row) continue;
      const RecordRow& row = dump_.rows()[*input.row];
      if (first != nullptr && row.desc().shape != first->desc().shape) return true;
      first = &row;
    }
    return false;
  }

  void take(const std::optional<size_t>& row, const std::string& what, OpId producer, RecordedInput& input, RecordedOp& op) {
    if (!row || !has_values(dump_.rows()[*row])) {
      fail(op, concat("the values of ", what, " are not in the dump (capture with --full --slots in,out)"));
      return;
    }
    const RecordRow& record = dump_.rows()[*row];
    input.row = static_cast<uint32_t>(*row);
    if (record.element >= 0) return take_sequence(*input.row, what, input, op);
    if (producer < dump_.ops().size()) {
      input.constant = constants_.has(producer);
      if (record.dims_count == kBlockedRank) input.block = blocks_[producer];
      if (input.constant) input.filter = filter_of(dump_.ops()[producer]);
    }
    op.bytes += record.bytes;
  }

  void take_sequence(uint32_t one, const std::string& what, RecordedInput& input, RecordedOp& op) {
    input.elements = sequences_.at(first_elements_.at(one));
    for (size_t i = 0; i < input.elements.size(); ++i) {
      const RecordRow& row = dump_.rows()[input.elements[i]];
      if (row.element != static_cast<int64_t>(i) || !has_values(row)) {
        return fail(op, concat("the dump has not every element of the sequence ", what, " (capture with --full --slots in,out)"));
      }
      op.bytes += row.bytes;
    }
    input.row = input.elements.front();
  }

  // If elements of a sequence were recorded, each counts as a separate call. They belong to the call of the first.
  void learn_sequences() {
    std::map<std::tuple<OpId, uint8_t, uint16_t, int64_t, uint64_t>, uint32_t> firsts;
    for (const size_t place : in_time_order_) {
      const auto number = static_cast<uint32_t>(place);
      const RecordRow& row = dump_.rows()[number];
      if (row.element < 0) continue;
      const auto first = firsts.try_emplace({row.op, row.slot_kind, row.slot_index, row.step, row.run}, number).first;
      if (row.element == 0) first->second = number;
      first_elements_[number] = first->second;
      sequences_[first->second].push_back(number);
    }
  }
  [[nodiscard]] uint32_t call_of(size_t number) const {
    const auto first = first_elements_.find(static_cast<uint32_t>(number));
    return dump_.rows()[first == first_elements_.end() ? number : size_t{first->second}].call;
  }

  static void fail(RecordedOp& op, std::string why) {
    if (op.obstacle.empty()) op.obstacle = std::move(why);
  }

  // What the innermost of the graphs around the op made last before it.
  void add_outer(const std::string& name, const RecordRow& reader, RecordedOp& op) {
    const std::string& path = dump_.ops()[op.op].graph;
    const Maker* best = nullptr;
    size_t depth = 0;
    for (const Maker& maker : makers_of(name)) {
      const std::string& graph = dump_.ops()[maker.op].graph;
      const bool around = graph.empty() || path == graph || path.starts_with(concat(graph, "/"));
      if (!around || (best != nullptr && graph.size() < depth)) continue;
      best = &maker;
      depth = graph.size();
    }
    take_named(name, best, concat("the value ", quote(name), " that its nested graph reads"), reader, op, op.outer);
  }

  void add_weight(const std::string& name, const RecordRow& reader, RecordedOp& op) {
    const std::string inside = dump_.ops()[op.op].name + "/";
    const Maker* best = nullptr;
    for (const Maker& maker : makers_of(name)) {
      const OpInfo& info = dump_.ops()[maker.op];
      if (info.type != kInitializerType || !info.graph.starts_with(inside)) continue;
      if (best != nullptr) fail(op, concat("two of its nested graphs have a weight ", quote(name)));
      best = &maker;
    }
    take_named(name, best, concat("the weight ", quote(name), " of its nested graph"), reader, op, op.weights);
  }

  [[nodiscard]] std::span<const Maker> makers_of(const std::string& name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? std::span<const Maker>() : found->second;
  }

  void take_named(const std::string& name, const Maker* maker, const std::string& what, const RecordRow& reader, RecordedOp& op,
                  std::vector<RecordedInput>& target) {
    RecordedInput& input = target.emplace_back();
    input.name = name;
    take(maker == nullptr ? std::nullopt : last_before(*maker, reader), what, maker == nullptr ? kNoOp : maker->op, input, op);
  }

  std::optional<size_t> last_before(const Maker& maker, const RecordRow& reader) {
    if (outputs_.empty()) {
      for (const size_t number : in_time_order_) {
        const RecordRow& row = dump_.rows()[number];
        if (row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput)) outputs_[{row.op, row.slot_index}].push_back(number);
      }
    }
    std::optional<size_t> last;
    for (const size_t number : outputs_[{maker.op, maker.slot}]) {
      const RecordRow& row = dump_.rows()[number];
      const bool weight = row.phase == static_cast<uint8_t>(Phase::kLoad);
      if (weight || (row.step == reader.step && row.run == reader.run && row.sequence < reader.sequence)) last = number;
    }
    return last;
  }

  void add_output(uint32_t number, RecordedOp& op) const {
    const RecordRow& row = dump_.rows()[number];
    const std::string what = slot_name(SlotKind::kOutput, row.slot_index);
    if (!has_values(row)) return fail(op, concat("the values of ", what, " are not in the dump (capture with --full)"));
    const uint32_t block = row.dims_count == kBlockedRank && !op.broadcasts ? blocks_[row.op] : 0;
    op.outputs.push_back({number, row.slot_index, block, row.element, makes_optional(dump_.ops()[row.op])});
  }

  const DumpIndex& dump_;
  const std::vector<size_t> in_time_order_;
  OpFactsTable facts_;
  RecordLookup lookup_;
  Constants constants_;
  std::vector<uint32_t> blocks_;  // by op
  std::unordered_map<std::string, std::vector<Maker>> makers_;
  std::map<std::pair<OpId, uint32_t>, std::vector<size_t>> outputs_;  // made when it is first needed
  std::unordered_map<uint32_t, uint32_t> first_elements_;             // of each element of a sequence, the first of it
  std::unordered_map<uint32_t, std::vector<uint32_t>> sequences_;     // by that, all of them in time order
};

bool knows_op(const DumpIndex& dump, std::string_view name) {
  return std::ranges::any_of(dump.ops(), [&](const OpInfo& op) { return !is_pseudo(op) && op.name == name; });
}

// Cuts "MARK number" off the end.
template <class Number>
void cut_number(std::string_view& name, char mark, std::optional<Number>& number) {
  const size_t at = name.rfind(mark);
  uint64_t value = 0;
  if (at == std::string_view::npos || at == 0 || !parse_unsigned(name.substr(at + 1), value) || value > UINT32_MAX) return;
  number = static_cast<Number>(value);
  name = name.substr(0, at);
}

}  // namespace

Result<ReplaySelection> parse_replay_selection(const DumpIndex& dump, std::string_view text) {
  ReplaySelection selection;
  std::string_view name = text;
  if (!knows_op(dump, name)) cut_number(name, '#', selection.call);
  if (!knows_op(dump, name)) cut_number(name, '@', selection.step);
  if (!knows_op(dump, name)) {
    std::vector<std::string> names;
    for (const OpInfo& op : dump.ops()) {
      if (!is_pseudo(op)) names.push_back(op.name);
    }
    return not_found(concat("the dump has no op ", quote(text), ".", did_you_mean(text, names)));
  }
  selection.op = name;
  return selection;
}

std::vector<RecordedOp> find_recorded_ops(const DumpIndex& dump, const ReplaySelection& selection) { return Finder(dump).find(selection); }

std::string recorded_op_name(const DumpIndex& dump, const RecordedOp& op) {
  std::string name = dump.ops()[op.op].name;
  if (op.step != 0) name += concat("@", op.step);
  if (op.call != 0) name += concat("#", op.call);
  return name;
}

}  // namespace tensortap
