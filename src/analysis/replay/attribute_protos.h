// Attributes of a recorded ONNX op as protobuf again, and the values that its nested graphs read from around them.

#ifndef TENSORTAP_REPLAY_ATTRIBUTE_PROTOS_H_
#define TENSORTAP_REPLAY_ATTRIBUTE_PROTOS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/channel_blocks.h"
#include "trace/op_info.h"

namespace tensortap {

// Channels of a block in the images that the op makes (docs/layouts/tap.md), 0 = they are in no blocks, or the dump does not say.
uint32_t channel_block_of(const OpInfo& op);

// The blocks in which ONNX Runtime stored a weight; nothing for other ops.
struct RecordedFilter {
  FilterOrder order = FilterOrder::kOutputs;
  uint32_t block = 0;
};
std::optional<RecordedFilter> filter_of(const OpInfo& op);

struct NodeAttributes {
  std::vector<std::string> protos;        // AttributeProto
  std::vector<std::string> outer_names;   // values that nested graphs read and do not make, each once
  std::vector<std::string> weight_names;  // weights of nested graphs whose values are in files: the dump has them as separate ops
};

// `bytes` are those of DumpIndex::attribute_bytes(). Both arguments are untrusted. Errors: kUnsupported for an attribute that the dump does
// not have whole, kCorrupt for one whose bytes are missing.
Result<NodeAttributes> node_attributes(const OpInfo& op, std::string_view bytes);

// A copy of a proto of node_attributes() in which each of these weights is what `tensor_of` gives for its name, a TensorProto. They stay in
// their own graph: ONNX Runtime rearranges weights for kernels of that graph and of those right inside it, no deeper.
Result<std::string> with_weights(std::string_view proto, const std::function<Result<std::string>(std::string_view name)>& tensor_of);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_ATTRIBUTE_PROTOS_H_
