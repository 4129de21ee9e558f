// What the files of the folder graphs/ tell of a graph: its ops in the order of execution, with the types that their values were seen to have.

#ifndef TENSORTAP_LAYOUT_MINDSPORE_GRAPH_DESCRIPTION_H_
#define TENSORTAP_LAYOUT_MINDSPORE_GRAPH_DESCRIPTION_H_

#include <span>
#include <string>
#include <string_view>

#include "layout/mindspore/profile.h"
#include "tensor/tensor.h"
#include "trace/op_info.h"

namespace tensortap {

// Borrowed. The position in a list of them is the op's id.
struct GraphOp {
  const OpInfo* info = nullptr;
  std::string_view scoped_name;
  std::span<const TensorDesc> outputs;  // by slot; DType::kUndefined and slots beyond the end = never seen
};

// debugger.ModelProto of the file .pb.
std::string graph_pb(const MindsporeVersion& version, std::span<const GraphOp> ops);
// The text of the file .ir.
std::string graph_ir(const MindsporeVersion& version, std::span<const GraphOp> ops);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_MINDSPORE_GRAPH_DESCRIPTION_H_
