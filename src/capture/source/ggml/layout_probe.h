// Finds out how a loaded copy of ggml stores tensors and graphs, by letting it make some and looking where what is known of them stands.

#ifndef TENSORTAP_SOURCE_GGML_LAYOUT_PROBE_H_
#define TENSORTAP_SOURCE_GGML_LAYOUT_PROBE_H_

#include <functional>
#include <vector>

#include "base/status.h"
#include "source/ggml/ggml_functions.h"
#include "source/ggml/tensor_fields.h"

namespace tensortap::ggml {

// The nodes of a graph (struct ggml_cgraph), for copies without ggml_graph_node(). Offsets; -1 = not known.
struct GraphLayout {
  int node_count = -1;  // int32
  int nodes = -1;       // pointer to pointers to tensors
};

// Each place was seen with at least two different values, and no other place had them. Errors: kUnsupported with the field that stands at
// no place, or perhaps at several.
Result<TensorLayout> probe_tensors(const GgmlFunctions& functions);
Result<GraphLayout> probe_graphs(const GgmlFunctions& functions);

// Whether the copy exports ggml_graph_view(), which makes graphs of the nodes that it is asked for. `list` lists the nodes of a graph.
bool probe_views(const GgmlFunctions& functions, const std::function<std::vector<GgmlTensor>(void* graph)>& list);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_LAYOUT_PROBE_H_
