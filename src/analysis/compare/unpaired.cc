#include "compare/unpaired.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

#include "compare/dead_rows.h"
#include "compare/op_kinds.h"
#include "compare/quantised_programs.h"
#include "compare/results.h"

namespace tensortap {
namespace {

// Ops that return pieces of their input, or fill it up with zeros.
constexpr std::array<std::string_view, 9> kCuts = {"split",  "split_with_sizes", "chunk",      "slice",          "narrow",
                                                   "unbind", "select",           "as_strided", "constant_pad_nd"};
// Namespaces of ops that move tensors between processes.
constexpr std::array<std::string_view, 3> kBetweenProcesses = {"c10d.", "_c10d_functional.", "_c10d_functional_autograd."};
// Values on the way to an op of the other dump that are looked at.
constexpr size_t kMostLooks = 64;
// How far pairs may be apart where one program alone has codes.
constexpr double kCloseWithCodes = 0.5;
// Ops before a piece of a tensor that are looked at.
constexpr size_t kMostCuts = 8;

bool is_one_of(const auto& names, std::string_view type) { return std::ranges::find(names, type) != names.end(); }

bool moves_between_processes(const OpInfo& op) {
  return std::ranges::any_of(kBetweenProcesses, [&op](std::string_view prefix) { return op.type.starts_with(prefix); });
}

class Explainer {
 public:
  Explainer(const PairingKeys& mine, const std::vector<uint32_t>& pair_of_mine, const PairingKeys& other,
            const std::vector<uint32_t>& pair_of_other, const std::vector<ValuePair>& pairs)
      : mine_(mine), other_(other), pair_of_mine_(pair_of_mine), pair_of_other_(pair_of_other), results_(mine), other_results_(other) {
    const ValueTable& table = other.table();
    for (ValueId id = 0; id < table.values().size(); ++id) {
      const uint32_t pair = pair_of_other[id];
      if (pair == Pairing::kNoPair) continue;
      if (pair >= of_pair_.size()) of_pair_.resize(pair + 1, kNoValue);
      of_pair_[pair] = id;
    }
    for (ValueId id = 0; id < table.values().size(); ++id) {
      for (const OriginalNode& node : table.op(id).originals) implemented_[node.name].push_back(id);
    }
    for (ValueId id = 0; id < mine.table().values().size(); ++id) knows_originals_ |= !mine.table().op(id).originals.empty();
    alone_in_job_ = std::ranges::none_of(other.table().dump().ops(), moves_between_processes);
    // Codes make everything differ. DumpComparison takes back the explanation of values that lead to one that is out.
    if (is_quantised(mine) != is_quantised(other)) close_ = kCloseWithCodes;
    find_dead();
    find_ways(pairs);
    find_decisions();
  }

  [[nodiscard]] Unpaired explain(ValueId id) const {
    const OpInfo& op = mine_.table().op(id);
    Unpaired one{id, Absence::kUnexplained, ""};
    const bool of_job = alone_in_job_ && moves_between_processes(op);
    if (of_job || op.inserted_by_runtime || (knows_originals_ && op.originals.empty())) {
      one.why = Absence::kRuntime;
    } else if (!find_implementation(id, one)) {
      if (mine_.is_constant(id) || is_dead_[id] || decides_[id] || PairingKeys::hands_on(op) || is_drawn(op)) {
        one.why = Absence::kRemoved;
      } else if (!find_module_part(id, one) && !find_inside(id, one)) {
        if (is_extra_output(id) || has_paired_twin(id)) {
          one.why = Absence::kRemoved;
        } else if (ways_[id].end != kNoValue && !ways_[id].differs) {
          one.why = Absence::kOtherWay;
          one.by = other_.table().op(ways_[id].end).name;
        }
      }
    }
    one.is_open_end = one.why == Absence::kUnexplained && (is_declared_result(id) || (ways_[id].end == kNoValue && !is_cut_of_known(id)));
    return one;
  }

 private:
  [[nodiscard]] bool is_declared_result(ValueId id) const { return results_.are_declared() && results_.contains(id); }

  // Whether the value says nothing new: it is a piece of values that have a partner, that no op made, or that ranks sent each other, as a
  // rank's part of a weight is. Looks back over a few ops only: values of a loop may lead back to themselves.
  [[nodiscard]] bool is_cut_of_known(ValueId id, size_t looks = kMostCuts) const {
    if (looks == 0) return false;
    const OpInfo& op = mine_.table().op(id);
    const bool shows = PairingKeys::hands_on(op);
    if (!shows && !is_one_of(kCuts, op.type)) return false;
    const auto is_known = [&](ValueId input) {
      if (input == kNoValue) return shows;
      const bool was_sent = alone_in_job_ && moves_between_processes(mine_.table().op(input));
      return was_sent || mine_.table().at(input).given || pair_of_mine_[input] != Pairing::kNoPair || is_cut_of_known(input, looks - 1);
    };
    const auto& inputs = mine_.inputs(id);
    return (shows || !inputs.empty()) && std::ranges::all_of(inputs, is_known);
  }

  // Finds dead values: no graph hands them out, and no value reads them, or only dead ones do. If the program does not declare its results,
  // a value counts as handed out when its partner in the other program is.
  void find_dead() {
    const size_t count = mine_.table().values().size();
    is_dead_.assign(count, false);
    const std::vector<bool> dead = dead_rows(mine_.table());
    for (ValueId id = 0; id < count; ++id) {
      is_dead_[id] = std::ranges::all_of(mine_.table().at(id).rows, [&dead](uint32_t row) { return dead[row]; });
    }
    const bool known = results_.are_declared();
    if (!known && !(other_results_.are_declared() && has_all_results())) return;
    for (auto id = static_cast<ValueId>(count); id-- > 0;) {
      const ValueId partner = partner_of(id);
      const bool handed_out = known ? results_.contains(id) : partner != kNoValue && other_results_.contains(partner);
      const auto is_dead = [this](ValueId reader) { return is_dead_[reader]; };
      is_dead_[id] = is_dead_[id] || (!handed_out && std::ranges::all_of(mine_.readers(id), is_dead, &PairingKeys::Reader::value) &&
                                      std::ranges::all_of(mine_.later_readers(id), is_dead));
    }
  }
  // Whether each result of the other program has a partner.
  [[nodiscard]] bool has_all_results() const {
    bool any = false;
    for (ValueId id = 0; id < pair_of_other_.size(); ++id) {
      if (other_.table().at(id).given || !other_results_.contains(id)) continue;
      if (pair_of_other_[id] == Pairing::kNoPair) return false;
      any = true;
    }
    return any;
  }

  // In a program of calls, a value that ends in single truth values alone, which no op reads, decides on the next calls. It is no result
  // where numbers are results that have partners.
  void find_decisions() {
    const ValueTable& table = mine_.table();
    decides_.assign(table.values().size(), false);
    const auto is_end = [this](ValueId id) { return mine_.readers(id).empty() && mine_.later_readers(id).empty(); };
    bool any = false;
    for (ValueId id = 0; table.is_of_calls() && id < decides_.size() && !any; ++id) {
      any = pair_of_mine_[id] != Pairing::kNoPair && !table.at(id).given && is_floating(table.dtype(id)) && is_end(id);
    }
    for (auto id = static_cast<ValueId>(any ? decides_.size() : 0); id-- > 0;) {
      const auto decides = [this](ValueId reader) { return decides_[reader]; };
      const bool is_decision = table.dtype(id) == DType::kBool && table.first_row(id).numel == 1;
      decides_[id] = is_end(id) ? is_decision
                                : std::ranges::all_of(mine_.readers(id), decides, &PairingKeys::Reader::value) &&
                                      std::ranges::all_of(mine_.later_readers(id), decides);
    }
  }

  // Where a value without a partner leads to: the values made of it that have one.
  struct Way {
    ValueId end = kNoValue;  // the first of them, of the other dump
    bool differs = false;    // whether any of them is far from its partner, or not known
  };
  void find_ways(const std::vector<ValuePair>& pairs) {
    ways_.assign(mine_.table().values().size(), {});
    // Readers come after the values that they read, except in loops and for ops that run more than once.
    for (size_t looks = 0; looks < kMostLooks && lengthen_ways(pairs); ++looks) {
    }
  }
  // Whether any way improved.
  bool lengthen_ways(const std::vector<ValuePair>& pairs) {
    bool any = false;
    for (auto id = static_cast<ValueId>(ways_.size()); id-- > 0;) {
      Way way = ways_[id];
      const auto follow = [&](ValueId reader) {
        Way next = ways_[reader];
        if (const uint32_t pair = pair_of_mine_[reader]; pair != Pairing::kNoPair) {
          const std::optional<Difference>& first = pairs[pair].accepted.first;
          next = {of_pair_[pair], !first || (first->differing != 0 && !(first->relative_l2 <= close_))};
        }
        if (way.end == kNoValue) way.end = next.end;
        way.differs |= next.differs;
      };
      for (const PairingKeys::Reader& reader : mine_.readers(id)) follow(reader.value);
      for (const ValueId reader : mine_.later_readers(id)) follow(reader);
      any |= way.end != ways_[id].end || way.differs != ways_[id].differs;
      ways_[id] = way;
    }
    return any;
  }

  // Whether an op of the other dump implements one of the author's nodes behind this value.
  bool find_implementation(ValueId id, Unpaired& one) const {
    const OpInfo& op = mine_.table().op(id);
    std::vector<std::string_view> nodes;
    for (auto node = op.originals.rbegin(); node != op.originals.rend(); ++node) nodes.push_back(node->name);
    if (nodes.empty()) nodes.push_back(op.name);
    for (const std::string_view node : nodes) {
      const auto found = implemented_.find(node);
      if (found == implemented_.end()) continue;
      const ValueId other = found->second.front();
      const OpInfo& by = other_.table().op(other);
      one.by = by.name;
      // One node on both sides is no fusion: the same value would have been accepted. One of other channels, filled up, is another value.
      const bool alone = nodes.size() == 1 && by.originals.size() == 1 && pair_of_other_[other] == Pairing::kNoPair;
      const bool same_size = mine_.table().first_row(id).numel == other_.table().first_row(other).numel;
      one.why = alone && same_size && !PairingKeys::hands_on(op) ? Absence::kUnexplained : Absence::kFused;
      return true;
    }
    return false;
  }

  // Whether one op of the other dump contains the value: a reader of the value belongs to the same module and is paired with an op whose
  // inputs are all known, so that no op can be in between.
  bool find_module_part(ValueId id, Unpaired& one) const {
    const std::string scope = mine_.scope(id);
    if (scope.empty()) return false;
    for (const PairingKeys::Reader& reader : mine_.readers(id)) {
      const ValueId partner = partner_of(reader.value);
      if (partner == kNoValue || mine_.scope(reader.value) != scope) continue;
      const auto is_known = [&](ValueId input) {
        return input == kNoValue || other_.table().at(input).given || pair_of_other_[input] != Pairing::kNoPair ||
               PairingKeys::hands_on(other_.table().op(input));
      };
      if (!std::ranges::all_of(other_.inputs(partner), is_known)) continue;
      one.by = other_.table().op(partner).name;
      one.why = Absence::kFused;
      return true;
    }
    return false;
  }

  [[nodiscard]] ValueId partner_of(ValueId id) const {
    const uint32_t pair = pair_of_mine_[id];
    return pair == Pairing::kNoPair ? kNoValue : of_pair_[pair];
  }

  // Whether the value lies between the inputs and the output of one op of the other dump.
  bool find_inside(ValueId id, Unpaired& one) const {
    std::vector<ValueId> behind = {id};
    for (size_t i = 0; i < behind.size() && behind.size() < kMostLooks; ++i) {
      for (const PairingKeys::Reader& reader : mine_.readers(behind[i])) {
        const ValueId partner = partner_of(reader.value);
        if (partner == kNoValue) {
          if (std::ranges::find(behind, reader.value) == behind.end()) behind.push_back(reader.value);
        } else if (reads_all_of(partner, id)) {
          one.by = other_.table().op(partner).name;
          one.why = Absence::kFused;
          return true;
        }
      }
    }
    return false;
  }
  // Whether an op of the other dump reads everything that the value is made of. Weights and inputs belong to the op itself.
  [[nodiscard]] bool reads_all_of(ValueId partner, ValueId id) const {
    std::vector<ValueId> before = {id};
    bool any = false;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before.size() > kMostLooks) return false;
      for (const ValueId input : mine_.inputs(before[i])) {
        if (input == kNoValue) return false;
        const ValueId read = partner_of(input);
        if (read != kNoValue && std::ranges::find(other_.inputs(partner), read) != other_.inputs(partner).end()) {
          any = true;
        } else if (!mine_.table().at(input).given && !mine_.is_constant(input)) {
          if (read != kNoValue) return false;
          if (std::ranges::find(before, input) == before.end()) before.push_back(input);
        }
      }
    }
    const auto is_given = [&](ValueId input) { return input == kNoValue || other_.table().at(input).given; };
    return any || std::ranges::all_of(other_.inputs(partner), is_given);
  }

  // Whether the program makes the same value twice, of which the other one makes a single one.
  [[nodiscard]] bool has_paired_twin(ValueId id) const {
    const RecordRow& row = mine_.table().first_row(id);
    const auto magnitudes = [](const RecordRow& of) {
      return std::tuple(of.numel, of.dtype, of.stats.valid, of.stats.l2, of.stats.absmax);
    };
    std::string content;
    for (ValueId other = 0; other < pair_of_mine_.size(); ++other) {
      if (pair_of_mine_[other] == Pairing::kNoPair || magnitudes(mine_.table().first_row(other)) != magnitudes(row)) continue;
      if (content.empty()) content = mine_.content(id);
      if (content.empty()) return false;
      if (mine_.content(other) == content) return true;
    }
    return false;
  }

  static bool is_of_one_call(const Value& one, const Value& other) { return one.op == other.op && one.call == other.call; }
  // Whether nothing reads the value, and the op of the other dump that makes the first one of its op has no such output.
  [[nodiscard]] bool is_extra_output(ValueId id) const {
    const ValueTable& table = mine_.table();
    const Value& value = table.at(id);
    if (value.slot == 0 || !mine_.readers(id).empty()) return false;
    ValueId first = id;
    while (first > 0 && is_of_one_call(table.at(first - 1), value)) --first;
    const ValueId partner = table.at(first).slot == 0 ? partner_of(first) : kNoValue;
    if (partner == kNoValue) return true;
    const std::span<const Value> theirs = other_.table().values();
    for (ValueId other = partner; other < theirs.size() && is_of_one_call(theirs[other], theirs[partner]); ++other) {
      if (theirs[other].slot == value.slot) return false;
    }
    return true;
  }

  const PairingKeys& mine_;
  const PairingKeys& other_;
  const std::vector<uint32_t>& pair_of_mine_;
  const std::vector<uint32_t>& pair_of_other_;
  const Results results_;
  const Results other_results_;
  std::vector<ValueId> of_pair_;  // the value of the other dump
  std::unordered_map<std::string_view, std::vector<ValueId>> implemented_;
  std::vector<bool> is_dead_;
  std::vector<bool> decides_;
  std::vector<Way> ways_;
  double close_ = 0.05;  // relative L2
  bool knows_originals_ = false;
  bool alone_in_job_ = false;  // the other program runs in one process
};

}  // namespace

std::string_view absence_name(Absence absence) {
  constexpr std::array<std::string_view, kAbsences> kNames = {"fused", "made by the runtime", "removed", "another way", "not explained"};
  return kNames[static_cast<size_t>(absence)];
}

std::vector<Unpaired> explain_unpaired(const PairingKeys& mine, const std::vector<uint32_t>& pair_of_mine, const PairingKeys& other,
                                       const std::vector<uint32_t>& pair_of_other, const std::vector<ValuePair>& pairs) {
  std::vector<Unpaired> all;
  const Explainer explainer(mine, pair_of_mine, other, pair_of_other, pairs);
  for (ValueId id = 0; id < mine.table().values().size(); ++id) {
    if (pair_of_mine[id] == Pairing::kNoPair && !mine.table().at(id).given) all.push_back(explainer.explain(id));
  }
  return all;
}

std::vector<ValueId> what_leads_to(const PairingKeys& keys, const std::vector<uint32_t>& pair_of, const std::vector<bool>& wanted) {
  std::vector<ValueId> leads_to(keys.table().values().size(), kNoValue);
  // What reads a value stands behind it.
  for (auto id = static_cast<ValueId>(leads_to.size()); id-- > 0;) {
    for (const PairingKeys::Reader& reader : keys.readers(id)) {
      const uint32_t pair = pair_of[reader.value];
      const ValueId found = pair == Pairing::kNoPair ? leads_to[reader.value] : wanted[pair] ? reader.value : kNoValue;
      if (found != kNoValue) leads_to[id] = found;
    }
  }
  return leads_to;
}

}  // namespace tensortap
