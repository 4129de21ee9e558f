// Which initializers of the executed graph hold constants of the author's graph, not weights: ONNX Runtime makes initializers of nodes of
// type Constant, and of whatever it computes when it loads the model.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_GRAPH_CONSTANTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_GRAPH_CONSTANTS_H_

#include <vector>

#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/origins/origins.h"
#include "source/onnxruntime/taps/registered_ops.h"

namespace tensortap::onnxruntime {

// Sets OpEntry::constant, and the author's node where one node of type Constant made the value. An initializer that the author has himself
// is a weight, and so is what was computed from weights: from initializers of the author's whose elements are no plain integers, bools or
// strings. An initializer whose name the runtime invented is what its readers read in the author's graph; where that is unknown, it counts
// as a weight. `table` and `origins` are those of the executed graph. Borrows the author's names for the length of the call.
void mark_constants(const Model& author, const std::vector<NodeOrigin>& origins, OpTable& table);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_GRAPH_CONSTANTS_H_
