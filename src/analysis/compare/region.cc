#include "compare/region.h"

#include <algorithm>
#include <unordered_set>

namespace tensortap {

std::vector<OpId> region_ops(const ValueTable& table, std::vector<uint32_t> rows) {
  // What ran first is where the programs part.
  std::ranges::sort(rows, {}, [&table](uint32_t row) { return table.dump().rows()[row].sequence; });
  std::vector<OpId> computing;
  std::vector<OpId> all;
  std::unordered_set<OpId> seen;
  for (const uint32_t number : rows) {
    const RecordRow& row = table.dump().rows()[number];
    const ValueId id = table.value_of(number);
    const OpInfo& op = op_of(table.dump(), row);
    if (id == kNoValue || table.at(id).given || op.inserted_by_runtime || !seen.insert(row.op).second) continue;
    all.push_back(row.op);
    if (!op_kind_of(op).moves) computing.push_back(row.op);
  }
  return computing.empty() ? all : computing;
}

uint32_t rounding_ops(const ValueTable& table, std::span<const uint32_t> rows, OpKinds& kinds) {
  uint32_t count = 0;
  for (const uint32_t number : rows) {
    const RecordRow& row = table.dump().rows()[number];
    const ValueId id = table.value_of(number);
    if (id == kNoValue || table.at(id).given) continue;
    const OpKind& kind = kinds.of(row.op, op_of(table.dump(), row));
    count += kind.moves || kind.quantises ? 0 : 1;
  }
  return count;
}

}  // namespace tensortap
