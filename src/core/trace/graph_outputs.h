// The attribute by which an op names what its graph hands out.

#ifndef TENSORTAP_TRACE_GRAPH_OUTPUTS_H_
#define TENSORTAP_TRACE_GRAPH_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/op_info.h"

namespace tensortap {

// Numbers of the outputs that the op's graph hands out. A dump that has it anywhere has every op of the graph.
inline constexpr std::string_view kGraphOutputs = "graph_outputs";

inline constexpr uint32_t kMostGraphOutputs = 64;  // slots that the attribute can tell

// Whether the graph hands out what an op has in a slot; false for slots from kMostGraphOutputs on.
inline bool has_graph_output(const OpInfo& op, uint32_t slot) {
  // Most ops have none: their attributes need no parsing.
  if (op.attributes.find(kGraphOutputs) == std::string::npos) return false;
  return slot < kMostGraphOutputs && (attribute_slots(op, kGraphOutputs) >> slot & 1U) != 0;
}

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_GRAPH_OUTPUTS_H_
