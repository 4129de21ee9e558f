#include "compare/op_edges.h"

#include <algorithm>

#include "compare/value_table.h"

namespace tensortap {

std::vector<OpEdge> op_edges(const DumpIndex& dump) {
  std::vector<OpEdge> edges;
  const auto ops = dump.ops();
  for (OpId reader = 0; reader < ops.size(); ++reader) {
    for (const OpInput& input : ops[reader].inputs) {
      if (input.producer < ops.size()) edges.push_back({input.producer, input.producer_slot, reader});
    }
  }
  const ValueTable table(dump);
  const auto rows = dump.rows();
  for (const Value& value : table.values()) {
    if (value.given) continue;
    for (const uint32_t row : value.rows) {
      for (const uint32_t input : table.inputs_of(row)) {
        const ValueId read = input == kNoRow ? kNoValue : table.value_of(input);
        if (read != kNoValue && table.at(read).kind == SlotKind::kOutput) edges.push_back({rows[input].op, table.at(read).slot, value.op});
      }
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace tensortap
