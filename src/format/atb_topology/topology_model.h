// The topology of an operation or a model, as `msit llm dump` leaves it in layer/ and model/, turned into an ONNX model.

#ifndef TENSORTAP_FORMAT_ATB_TOPOLOGY_TOPOLOGY_MODEL_H_
#define TENSORTAP_FORMAT_ATB_TOPOLOGY_TOPOLOGY_MODEL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// What an operation's tensors are, in their order. An undefined type, and what is missing at the end, is not known.
struct OperationTypes {
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
};
// Those of the operation of this name ("LinearOperation_1_0"); nothing in it where nothing is known.
using TypesOf = std::function<OperationTypes(std::string_view name)>;

inline constexpr int64_t kAllLevels = -1;

// The bytes of a ModelProto. `text` is one such file, `name` what messages call it. Nested operations are taken apart down to `level`: 0 is
// the topology's own operation, 1 what it is made of, and so on; kAllLevels is to the last, and other negative numbers are 1, as for msit.
// Operators are of the domain "atb", their parameters attributes; a parameter inside another is called "outer.inner". Each value has one
// maker: what an operation makes under a name that stands for something already gets a name of its own, and what follows reads that. What
// is read and not made is an input of the graph. Values have the types that `types` knows; of others the type is opaque.
// Untrusted input. Errors: kInvalidArgument for text that is no such topology, with the place; kUnsupported for one whose model would not
// fit into a protobuf message.
Result<std::string> topology_model(std::string_view text, std::string_view name, int64_t level, const TypesOf& types);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ATB_TOPOLOGY_TOPOLOGY_MODEL_H_
