#include "shards/shard_rows.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap {
namespace {

std::string row_key(uint32_t op, const RecordRow& row) {
  return concat(op, " ", row.step, " ", row.call, " ", row.slot_kind, " ", row.slot_index, " ", row.element, " ", row.phase, " ",
                row.moment);
}

}  // namespace

std::string op_key(const OpInfo& op) {
  std::string key = op.name;
  for (const std::string* part : {&op.type, &op.module, &op.graph}) {
    key += '\0';
    key += *part;
  }
  return key;
}

ShardRows::ShardRows(const DumpIndex& dump) {
  const auto ops = dump.ops();
  std::vector<uint32_t> numbers(ops.size());
  for (uint32_t op = 0; op < ops.size(); ++op) {
    numbers[op] = numbers_.try_emplace(op_key(ops[op]), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  const auto rows = dump.rows();
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (rows[row].op < numbers.size()) rows_.try_emplace(row_key(numbers[rows[row].op], rows[row]), row);
  }
}

std::optional<uint32_t> ShardRows::beside(const std::string& key, const RecordRow& row) const {
  const auto op = numbers_.find(key);
  if (op == numbers_.end()) return std::nullopt;
  const auto found = rows_.find(row_key(op->second, row));
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

ToldPlacements::ToldPlacements(const DumpIndex& dump) : dump_(dump) {
  for (const OpInfo& op : dump.ops()) of_ops_.push_back(placements_of(op));
  const auto rows = dump.rows();
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (rows[row].storage != 0 && of_input(rows[row]) != nullptr) readers_.try_emplace({rows[row].storage, rows[row].version}, row);
  }
}

const SlotPlacement* ToldPlacements::of_input(const RecordRow& row) const {
  if (row.slot_kind != static_cast<uint8_t>(SlotKind::kInput) || row.op >= of_ops_.size()) return nullptr;
  const auto& told = of_ops_[row.op];
  const auto found =
      std::ranges::find_if(told, [&](const SlotPlacement& one) { return one.slot == row.slot_index && one.element == row.element; });
  return found == told.end() ? nullptr : &*found;
}

const SlotPlacement* ToldPlacements::of(uint32_t number) const {
  const RecordRow& row = dump_.rows()[number];
  if (const SlotPlacement* own = of_input(row); own != nullptr) return own;
  const auto reader = row.storage == 0 ? readers_.end() : readers_.find({row.storage, row.version});
  if (reader == readers_.end()) return nullptr;
  const RecordRow& read = dump_.rows()[reader->second];
  // Another view of the block is placed otherwise.
  return read.view == row.view && read.dtype == row.dtype && read.desc().shape == row.desc().shape ? of_input(read) : nullptr;
}

}  // namespace tensortap
