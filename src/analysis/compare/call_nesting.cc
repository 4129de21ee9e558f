#include "compare/call_nesting.h"

#include <algorithm>

#include "compare/op_kinds.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

// By op: whether it has records.
std::vector<bool> recorded_ops(const DumpIndex& dump) {
  std::vector<bool> recorded(dump.ops().size(), false);
  for (const RecordRow& row : dump.rows()) {
    if (row.op < recorded.size()) recorded[row.op] = true;
  }
  return recorded;
}

bool is_beyond_ops(const OpInfo& op) { return op.level != Level::kOp; }

}  // namespace

CallNesting::CallNesting(const DumpIndex& dump) {
  // The records are looked at only where some op is called as something else than an op.
  if (std::ranges::none_of(dump.ops(), is_beyond_ops)) return;
  const std::vector<bool> recorded = recorded_ops(dump);
  bool any = false;
  bool modules_alone = true;
  for (OpId id = 0; id < recorded.size(); ++id) {
    if (!recorded[id] || is_pseudo_op(dump.ops()[id])) continue;
    any |= is_beyond_ops(dump.ops()[id]);
    modules_alone &= is_module(dump.ops()[id]);
  }
  if (!any) return;
  has_modules_alone_ = modules_alone;
  call_of_row_.assign(dump.rows().size(), kNoCall);
  std::unordered_map<RecordLookup::Execution, uint32_t, RecordLookup::Hash> known;
  size_t place = 0;
  for (const size_t number : rows_in_time_order(dump)) {
    const RecordRow& row = dump.rows()[number];
    const auto [found, is_new] = known.try_emplace(RecordLookup::execution_of(row), static_cast<uint32_t>(calls_.size()));
    if (is_new) calls_.push_back({place, place, row.thread, kNoCall, {}, {}});
    Call& call = calls_[found->second];
    call.last = place++;
    call.rows.push_back(static_cast<uint32_t>(number));
    call_of_row_[number] = found->second;
  }
  std::unordered_map<uint32_t, std::vector<uint32_t>> open;  // calls by thread, the innermost last
  for (uint32_t id = 0; id < calls_.size(); ++id) {
    std::vector<uint32_t>& around = open[calls_[id].thread];
    while (!around.empty() && calls_[around.back()].last < calls_[id].last) around.pop_back();
    if (!around.empty()) {
      calls_[id].around = around.back();
      calls_[around.back()].inside.push_back(id);
    }
    around.push_back(id);
  }
}

OpsInModules::OpsInModules(const DumpIndex& dump) {
  const std::vector<bool> recorded = recorded_ops(dump);
  for (OpId id = 0; id < recorded.size(); ++id) {
    if (recorded[id] && is_module(dump.ops()[id])) counts_.try_emplace(dump.ops()[id].module);
  }
  if (counts_.empty()) return;
  for (const OpInfo& op : dump.ops()) {
    if (op.level != Level::kOp || op.module.empty()) continue;
    std::string_view path = op.module;
    auto found = counts_.find(path);
    while (found == counts_.end() && path.find('.') != std::string_view::npos) found = counts_.find(path = path.substr(0, path.rfind('.')));
    if (found == counts_.end()) continue;
    const OpKind kind = op_kind_of(op);
    const bool rounds = !kind.moves && !kind.quantises;
    ++found->second.all;
    if (rounds) ++(path.size() == op.module.size() ? found->second.own : found->second.deeper);
  }
}

uint32_t OpsInModules::in(const OpInfo& module, uint32_t most) const {
  const auto found = counts_.find(module.module);
  if (found == counts_.end() || found->second.all == 0) return most;
  return std::min(found->second.own, most) + found->second.deeper;
}

}  // namespace tensortap
