#include "compare/sequence_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "compare/common_sequence.h"
#include "compare/op_kinds.h"

namespace tensortap {
namespace {

constexpr size_t kMostEdits = 2000;

using StepInB = std::function<int64_t(int64_t)>;

std::string call_key(const ValueTable& table, ValueId id, bool with_size, const StepInB& step_in_b) {
  const Value& value = table.at(id);
  const RecordRow& row = table.first_row(id);
  const OpInfo& op = table.op(id);
  std::string key =
      concat(step_in_b(row.step), "|", uint32_t{row.phase}, "|", op.module, "|", op.type, "|", value.slot, "|", value.element);
  // A module may make more calls under one name than are values: all of them have to be alike.
  for (const uint32_t number : value.rows) {
    key += with_size ? concat("|", table.dump().rows()[number].numel) : "|";
  }
  return key;
}

class SequencePairer {
 public:
  SequencePairer(const PairingKeys& a, const PairingKeys& b, const std::function<bool(ValueId, ValueId)>& is_near, const StepInB& step_in_b)
      : a_(a), b_(b), is_near_(is_near), step_in_b_(step_in_b) {}

  std::vector<SequencePair> run() {
    if (!a_.table().is_of_calls() || !b_.table().is_of_calls() || !match(true)) return {};
    (void)match(false);
    runs_a_ = runs_of(a_.table(), beside_a_);
    runs_b_ = runs_of(b_.table(), beside_b_);
    std::ranges::sort(matched_);  // what is read comes before those that read it
    for (const auto& [a, b] : matched_) {
      // Numbers that are drawn are the same where they are equal: a program may draw others before.
      pairs_.push_back({a, b, !is_drawn(a_.table().op(a)) && agrees(a, b)});
      if (!pairs_.back().holds && !is_near_(a, b)) part(a, b);
    }
    add_what_they_read();
    return std::move(pairs_);
  }

 private:
  using Sequence = std::pair<std::vector<ValueId>, std::vector<uint64_t>>;

  template <class IsFree>
  static Sequence sequence_of(const ValueTable& table, bool with_size, const StepInB& step_in_b, const IsFree& is_free) {
    Sequence sequence;
    size_t matched = 0;
    for (ValueId id = 0; id < table.values().size(); ++id) {
      if (table.at(id).given) continue;
      if (!is_free(id)) {
        ++matched;
        continue;
      }
      sequence.first.push_back(id);
      // Earlier matches stay in their places: no pair crosses them.
      sequence.second.push_back(std::hash<std::string>()(concat(matched, "|", call_key(table, id, with_size, step_in_b))));
    }
    return sequence;
  }

  bool match(bool with_size) {
    const Sequence in_a = sequence_of(a_.table(), with_size, step_in_b_, [this](ValueId id) { return !beside_a_.contains(id); });
    const StepInB same = [](int64_t step) { return step; };
    const Sequence in_b = sequence_of(b_.table(), with_size, same, [this](ValueId id) { return !beside_b_.contains(id); });
    auto common = common_sequence(in_a.second, in_b.second, kMostEdits);
    if (!common) return false;
    prefer_agreement(in_a.second, in_b.second, *common, [&](size_t a, size_t b) { return look_alike(in_a.first[a], in_b.first[b]); });
    for (const auto& [at_a, at_b] : *common) {
      beside_a_.emplace(in_a.first[at_a], in_b.first[at_b]);
      beside_b_.emplace(in_b.first[at_b], in_a.first[at_a]);
      matched_.emplace_back(in_a.first[at_a], in_b.first[at_b]);
    }
    return true;
  }

  // By the statistics of their first records.
  [[nodiscard]] bool look_alike(ValueId a, ValueId b) const {
    constexpr double kAlike = 2e-3;  // relative
    constexpr uint32_t kNeeded = kStatL2 | kStatAbsMax;
    const TensorStats& of_a = a_.table().first_row(a).stats;
    const TensorStats& of_b = b_.table().first_row(b).stats;
    const auto are_near = [](double one, double other) { return std::abs(one - other) <= kAlike * std::abs(other); };
    return (of_a.valid & of_b.valid & kNeeded) == kNeeded && are_near(of_a.l2, of_b.l2) && are_near(of_a.absmax, of_b.absmax);
  }

  // For each value without a partner, the number of neighbouring values without one, itself included; 0 for the others.
  static std::vector<uint32_t> runs_of(const ValueTable& table, const std::unordered_map<ValueId, ValueId>& beside) {
    std::vector<uint32_t> runs(table.values().size(), 0);
    std::vector<ValueId> run;
    const auto end_run = [&] {
      for (const ValueId one : run) runs[one] = static_cast<uint32_t>(run.size());
      run.clear();
    };
    for (ValueId id = 0; id < runs.size(); ++id) {
      if (table.at(id).given) continue;
      if (beside.contains(id)) {
        end_run();
      } else {
        run.push_back(id);
      }
    }
    end_run();
    return runs;
  }

  // Says nothing of what reads these.
  void part(ValueId a, ValueId b) {
    beside_a_.erase(a);
    beside_b_.erase(b);
  }

  [[nodiscard]] bool agrees(ValueId a, ValueId b) const {
    const std::vector<ValueId>& of_a = a_.inputs(a);
    const std::vector<ValueId>& of_b = b_.inputs(b);
    // Values of other sizes are other values: a rank's piece beside the whole.
    if (of_a.size() != of_b.size() || a_.table().first_row(a).numel != b_.table().first_row(b).numel) return false;
    if (of_a.empty()) return is_near_(a, b);
    bool known = true;
    for (size_t i = 0; i < of_a.size(); ++i) {
      if (of_a[i] == kNoValue || of_b[i] == kNoValue) continue;
      const auto found = beside_a_.find(of_a[i]);
      const bool has_partner = found != beside_a_.end();
      // One op may replace another. Where one program takes more steps, only values show where both programs meet again.
      const bool at_one_place = !beside_b_.contains(of_b[i]) && runs_a_[of_a[i]] == runs_b_[of_b[i]];
      if (has_partner ? found->second == of_b[i] : at_one_place) {
        known &= has_partner || a_.table().at(of_a[i]).given;
      } else if (!is_near_(of_a[i], of_b[i])) {
        return false;
      }
    }
    return known || a_.table().first_row(a).desc().shape == b_.table().first_row(b).desc().shape;
  }

  // Weights and inputs are what the same call reads at the same place, whatever they hold.
  void add_what_they_read() {
    const size_t made = pairs_.size();
    for (size_t i = 0; i < made; ++i) {
      const std::vector<ValueId>& of_a = a_.inputs(pairs_[i].a);
      const std::vector<ValueId>& of_b = b_.inputs(pairs_[i].b);
      if (!pairs_[i].holds) continue;
      for (size_t at = 0; at < of_a.size(); ++at) {
        if (of_a[at] == kNoValue || of_b[at] == kNoValue) continue;
        const bool given = a_.table().at(of_a[at]).given && b_.table().at(of_b[at]).given;
        if (given && a_.table().first_row(of_a[at]).desc().shape == b_.table().first_row(of_b[at]).desc().shape) {
          pairs_.push_back({of_a[at], of_b[at], true});
        }
      }
    }
  }

  const PairingKeys& a_;
  const PairingKeys& b_;
  const std::function<bool(ValueId, ValueId)>& is_near_;
  const StepInB& step_in_b_;
  std::unordered_map<ValueId, ValueId> beside_a_;
  std::unordered_map<ValueId, ValueId> beside_b_;
  std::vector<uint32_t> runs_a_;
  std::vector<uint32_t> runs_b_;
  std::vector<std::pair<ValueId, ValueId>> matched_;
  std::vector<SequencePair> pairs_;
};

}  // namespace

std::vector<SequencePair> sequence_pairs(const PairingKeys& a, const PairingKeys& b, const std::function<bool(ValueId, ValueId)>& is_near,
                                         const StepInB& step_in_b) {
  return SequencePairer(a, b, is_near, step_in_b).run();
}

}  // namespace tensortap
