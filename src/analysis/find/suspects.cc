#include "find/suspects.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "find/dead_makers.h"
#include "find/headroom.h"
#include "find/nonfinite_origins.h"
#include "find/patterns.h"
#include "query/record_lookup.h"

namespace tensortap {
namespace {

constexpr double kLeastBinades = 1;   // doublings to the largest value of the dtype
constexpr double kMostGrowth = 1000;  // of an output over what its op read

class Suspects {
 public:
  Suspects(const DumpIndex& dump, size_t limit) : dump_(dump), facts_(dump), lookup_(dump, facts_), limit_(limit) {}

  std::vector<Suspect> find() {
    add_nonfinite();
    add_headroom();
    for (const GradientRecord& gradient : find_gradients(dump_).exploding) add(gradient.row, "its gradient explodes");
    for (const DeadOutput& dead : find_dead_makers(dump_, lookup_)) add(dead.row, concat(slot_of(dead.row), " is dead: nothing but zeros"));
    add_growth();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string slot_of(size_t row) const {
    const RecordRow& record = dump_.rows()[row];
    return slot_name(static_cast<SlotKind>(record.slot_kind), record.slot_index);
  }

  void add(size_t row, std::string reason) {
    const RecordRow& record = dump_.rows()[row];
    const OpInfo& op = op_of(dump_, record);
    const bool executed = !op.name.empty() && op.type != kInputType && op.type != kInitializerType;
    if (!executed || !attribute_text(op, kWatchedOp).empty()) return;
    const auto known = std::ranges::find(found_, record.op, &Suspect::op);
    if (known == found_.end()) {
      if (found_.size() < limit_) found_.push_back({record.op, {std::move(reason)}});
    } else if (std::ranges::find(known->reasons, reason) == known->reasons.end()) {
      known->reasons.push_back(std::move(reason));
    }
  }

  void add_nonfinite() {
    const NonFiniteFindings found = find_nonfinite(dump_, limit_);
    for (const NonFiniteOrigin& origin : found.origins) {
      if (origin.harmless) continue;
      if (origin.kind != OriginKind::kOp && origin.kind != OriginKind::kUnknown) continue;
      const OriginStep& made = origin.chain.back();
      const std::string name = op_of(dump_, dump_.rows()[made.row]).name;
      add(made.row, origin.certain ? "it made NaN or Inf of finite values" : "NaN or Inf began in it, as far as was captured");
      for (const size_t input : made.inputs) add(lookup_.writer_of(input).value_or(input), concat("it made what ", quote(name), " read"));
    }
  }

  void add_headroom() {
    constexpr DType kTargets[] = {DType::kFloat16, DType::kBFloat16};
    const auto found = find_headrooms(dump_, kTargets);
    for (size_t i = 0; i < found.size(); ++i) {
      for (const Headroom& headroom : found[i]) {
        const bool is_half = dump_.rows()[headroom.row].dtype == static_cast<uint8_t>(DType::kFloat16);
        if (is_half != (kTargets[i] == DType::kFloat16) || !headroom.binades || *headroom.binades >= kLeastBinades) continue;
        add(headroom.row, concat(slot_of(headroom.row), " comes within a factor of two of the largest ", dtype_name(kTargets[i])));
      }
    }
  }

  [[nodiscard]] std::optional<double> absmax_of(size_t row) const {
    const TensorStats& stats = dump_.rows()[row].stats;
    if ((stats.valid & kStatAbsMax) != 0 && std::isfinite(stats.absmax)) return stats.absmax;
    constexpr uint32_t kExtremes = kStatMin | kStatMax;
    if ((stats.valid & kExtremes) != kExtremes || !std::isfinite(stats.min) || !std::isfinite(stats.max)) return std::nullopt;
    return std::max(std::abs(stats.min), std::abs(stats.max));
  }

  // The first execution of each op represents all.
  void add_growth() {
    std::unordered_set<OpId> seen;
    for (const size_t row : rows_in_time_order(dump_)) {
      const RecordRow& record = dump_.rows()[row];
      const bool is_output = record.slot_kind == static_cast<uint8_t>(SlotKind::kOutput) && is_floating(static_cast<DType>(record.dtype));
      if (!is_output || !seen.insert(record.op).second) continue;
      const std::optional<double> made = absmax_of(row);
      double largest = 1;
      bool known = made.has_value() && *made > kMostGrowth;
      for (const RecordLookup::Read& read : known ? lookup_.reads_of(row) : std::vector<RecordLookup::Read>()) {
        const std::optional<double> absmax = read.row ? absmax_of(*read.row) : std::nullopt;
        known = known && absmax.has_value();
        largest = std::max(largest, absmax.value_or(0));
      }
      if (known && *made > kMostGrowth * largest) add(row, concat(slot_of(row), " is more than a thousand times larger than what it read"));
    }
  }

  const DumpIndex& dump_;
  const OpFactsTable facts_;
  const RecordLookup lookup_;
  const size_t limit_;
  std::vector<Suspect> found_;
};

}  // namespace

std::vector<Suspect> find_suspects(const DumpIndex& dump, size_t limit) { return Suspects(dump, limit).find(); }

Json suspects_json(const DumpIndex& dump, const std::vector<Suspect>& suspects) {
  Json json = {{"suspects", Json::array()}};
  for (const Suspect& suspect : suspects) {
    const OpInfo& op = dump.ops()[suspect.op];
    json["suspects"].push_back({{"op", op.name}, {"type", op.type}, {"reasons", suspect.reasons}});
  }
  return json;
}

}  // namespace tensortap
