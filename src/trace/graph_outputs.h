// The attribute by which an op names what its graph hands out.

#ifndef TENSORTAP_TRACE_GRAPH_OUTPUTS_H_
#define TENSORTAP_TRACE_GRAPH_OUTPUTS_H_

#include <string_view>

namespace tensortap {

// Numbers of the outputs that the op's graph hands out. A dump that has it anywhere has every op of the graph.
inline constexpr std::string_view kGraphOutputs = "graph_outputs";

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_GRAPH_OUTPUTS_H_
