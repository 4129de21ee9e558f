#include "tree/tree_rows.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "base/text.h"
#include "trace/overflowed_ops.h"

namespace tensortap {

void TreeRows::add(RecordRow row, uint32_t folder, uint32_t file) {
  row.sequence = rows.size();
  rows.push_back(row);
  folders.push_back(folder);
  files.push_back(file);
}

RecordRow tree_row(const TreeFolder& folder, OpId op, SlotKind kind, uint32_t slot, uint64_t microseconds) {
  constexpr uint64_t kMostMicroseconds = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 1000;
  RecordRow row;
  row.step = folder.step;
  row.time_ns = static_cast<int64_t>(std::min(microseconds, kMostMicroseconds) * 1000);
  row.op = op;
  row.rank = folder.rank;
  row.slot_index = static_cast<uint16_t>(slot);
  row.slot_kind = static_cast<uint8_t>(kind);
  row.committed = 1;
  return row;
}

std::string with_overflows(std::string manifest, const TreeRows& rows) {
  std::set<OverflowedOp> ops;
  for (const uint32_t number : rows.overflowed) {
    const RecordRow& row = rows.rows[number];
    ops.insert({rows.ops[row.op].name, row.step, row.call, row.rank});
  }
  return with_overflowed_ops(std::move(manifest), ops);
}

void finish_ops(TreeRows& rows) {
  std::set<std::string> used;
  for (OpInfo& op : rows.ops) {
    if (used.insert(op.name).second) continue;
    const std::string name = op.name;
    op.name = op.graph.empty() ? concat(op.type, ".", name) : concat(op.graph, "/", name);
    for (int i = 2; !used.insert(op.name).second; ++i) op.name = concat(op.type, ".", name, "~", i);
  }
  for (const RecordRow& row : rows.rows) {
    OpInfo& op = rows.ops[row.op];
    if (row.slot_kind == static_cast<uint8_t>(SlotKind::kInput)) {
      if (op.inputs.size() <= row.slot_index) op.inputs.resize(size_t{row.slot_index} + 1);
      continue;
    }
    while (op.outputs.size() <= row.slot_index) op.outputs.push_back(concat(op.name, ":", op.outputs.size()));
  }
}

}  // namespace tensortap
