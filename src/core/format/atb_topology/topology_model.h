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

// The types of an operation's tensors, in order. An undefined type is unknown, and so are those missing at the end.
struct OperationTypes {
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
};
// Those of the operation of this name ("LinearOperation_1_0"); nothing in it where nothing is known.
using TypesOf = std::function<OperationTypes(std::string_view name)>;

inline constexpr int64_t kAllLevels = -1;

// Returns the bytes of a ModelProto. `text` is one such file, `name` its name in messages. Nested operations are taken apart down to
// `level`: 0 is the topology's own operation, 1 its parts, and so on. kAllLevels goes down to the last level; other negative numbers count
// as 1, as for msit. Operators are of the domain "atb", and their parameters are attributes; a parameter inside another is called
// "outer.inner". Each value has one maker: if an operation makes a value under a name that is already taken, the value gets a new name, and
// later operations read that one. A value that is read but never made is an input of the graph. Values have the types that `types` knows;
// other types are opaque. Untrusted input. Errors: kInvalidArgument for text that is no such topology, with the place; kUnsupported if the
// model would not fit into a protobuf message.
Result<std::string> topology_model(std::string_view text, std::string_view name, int64_t level, const TypesOf& types);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ATB_TOPOLOGY_TOPOLOGY_MODEL_H_
