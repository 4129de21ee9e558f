// A graph for the files of the folder graphs/: its ops in the order of execution, with the types that their values were seen to have.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_DESCRIPTION_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_DESCRIPTION_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "system/mindspore/release.h"
#include "tensor/tensor.h"
#include "trace/op_info.h"

namespace tensortap::mindspore {

// An output of an op in a list of ops, or an element of one that is a sequence.
struct GraphValue {
  static constexpr size_t kNobody = std::numeric_limits<size_t>::max();
  size_t producer = kNobody;  // position in the list
  uint32_t slot = 0;
  int64_t element = -1;
};

struct GraphInput {
  GraphValue value;
  std::string_view name;  // the program's name of it; "" = none
  uint32_t slot = 0;
  bool is_parameter = false;               // `name` is that of a weight of the program
  bool in_list = false;                    // an element of a sequence: those of a slot follow each other
  TensorDesc desc;                         // DType::kUndefined = never seen
  std::vector<GraphValue> in_other_calls;  // what other executions read there instead
};

// Borrowed, except for `outside`. The position in a list of them is the op's id; after the ops come values that no op made, as the
// pseudo-ops that a graph has for its inputs and weights.
struct GraphOp {
  struct OutsideValue {
    OpInfo info;
    TensorDesc desc;
  };
  const OpInfo* info = nullptr;
  std::string_view scoped_name;
  std::span<const TensorDesc> outputs;  // by slot; DType::kUndefined and slots beyond the end = never seen
  std::vector<GraphInput> inputs;
  std::shared_ptr<const OutsideValue> outside;  // what the others point into, for a value that no op made
};

// debugger.ModelProto of the file .pb.
std::string graph_pb(const TreeRules& rules, std::span<const GraphOp> ops);
// The text of the file .ir.
std::string graph_ir(const TreeRules& rules, std::span<const GraphOp> ops);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_DESCRIPTION_H_
