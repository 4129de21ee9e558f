#include "convert/step_values.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

bool is_loaded(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad); }

std::string value_name(const DumpIndex& dump, const RecordRow& row) {
  const OpInfo& op = op_of(dump, row);
  const bool has_name = row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput) && row.slot_index < op.outputs.size() &&
                        !op.outputs[row.slot_index].empty() && row.moment == static_cast<uint8_t>(Moment::kAfter);
  std::string name =
      has_name ? op.outputs[row.slot_index] : concat(op.name, ":", slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index));
  if (!has_name && row.moment == static_cast<uint8_t>(Moment::kBefore)) name += ".before";
  if (row.call > 0) name += concat("#", row.call);
  if (row.element >= 0) name += concat("[", row.element, "]");
  return name;
}

}  // namespace

std::vector<StepValues> values_by_step(const DumpIndex& dump) {
  using Key = std::tuple<bool, int64_t, int32_t, uint64_t>;  // what was loaded comes first
  std::map<Key, std::vector<size_t>> steps;
  std::map<std::pair<int64_t, int32_t>, std::set<uint64_t>> runs;  // that have this step
  std::set<int32_t> ranks;
  for (size_t i = 0; i < dump.rows().size(); ++i) {
    const RecordRow& row = dump.rows()[i];
    if ((row.flags & kRecordHasData) == 0) continue;
    ranks.insert(row.rank);
    if (!is_loaded(row)) runs[{row.step, row.rank}].insert(row.run);
    steps[{!is_loaded(row), is_loaded(row) ? 0 : row.step, row.rank, is_loaded(row) ? 0 : row.run}].push_back(i);
  }
  std::vector<StepValues> result;
  for (const auto& [key, rows] : steps) {
    const auto& [in_step, step, rank, run] = key;
    StepValues& values = result.emplace_back();
    values.loaded = !in_step;
    values.step = step;
    values.name = concat(ranks.size() > 1 ? concat("rank_", rank, "/") : "", in_step ? concat("step_", step) : "weights");
    if (in_step && runs[{step, rank}].size() > 1) values.name += concat("_run_", run);
    std::set<std::string> used;
    for (const size_t row : rows) {
      const std::string name = value_name(dump, dump.rows()[row]);
      std::string unique = name;
      for (int number = 2; !used.insert(unique).second; ++number) unique = concat(name, "~", number);
      values.values.push_back({row, std::move(unique)});
    }
  }
  return result;
}

}  // namespace tensortap
