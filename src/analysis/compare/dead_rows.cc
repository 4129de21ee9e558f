#include "compare/dead_rows.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "compare/op_kinds.h"
#include "query/record_lookup.h"

namespace tensortap {
namespace {

// Memory that an initialisation fills, or one that is drawn.
bool is_initial(const OpInfo& op) {
  return is_drawn(op) || op.type == "empty" || op.type == "empty_like" || op.type == "empty_strided" || op.type == "new_empty";
}

// Whether an op writes over the whole of an input, and does not look at it.
bool writes_over(const OpInfo& op, const RecordRow& made, const RecordRow& input) {
  const bool is_filled = op.type == "copy_" || op.type == "fill_" || op.type == "zero_";
  return is_filled && input.storage == made.storage && input.numel == made.numel;
}

// The last content of each block of memory.
std::unordered_map<uint64_t, uint64_t> last_versions(const ValueTable& table) {
  std::unordered_map<uint64_t, uint64_t> last;
  for (const RecordRow& row : table.dump().rows()) {
    if (!table.includes(row)) continue;
    uint64_t& version = last[row.storage];
    version = std::max<uint64_t>(version, row.version);
  }
  return last;
}

}  // namespace

std::vector<bool> dead_rows(const ValueTable& table) {
  const DumpIndex& dump = table.dump();
  std::vector<bool> dead(dump.rows().size(), false);
  const auto last = last_versions(table);
  if (last.size() < 2) return dead;  // 0 alone: no memory is known
  std::vector<bool> is_read(dead.size(), false);
  std::vector<bool> is_used(dead.size(), false);
  const std::vector<size_t> order = rows_in_time_order(dump);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto number = static_cast<uint32_t>(*at);
    const RecordRow& row = dump.rows()[number];
    if (table.value_of(number) == kNoValue || row.storage == 0) continue;
    dead[number] = is_read[number] ? !is_used[number] : row.version < last.at(row.storage) || is_initial(op_of(dump, row));
    for (const uint32_t input : table.inputs_of(number)) {
      if (input == kNoRow || input == number || writes_over(op_of(dump, row), row, dump.rows()[input])) continue;
      is_read[input] = true;
      if (!dead[number]) is_used[input] = true;
    }
  }
  return dead;
}

}  // namespace tensortap
