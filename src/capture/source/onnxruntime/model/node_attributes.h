// Attributes of a node as JSON, for people and for dumps that list them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NODE_ATTRIBUTES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NODE_ATTRIBUTES_H_

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// The values of attributes that JSON does not hold whole, one AttributeProto behind the other.
struct AttributeBytes {
  static constexpr uint64_t kMost = uint64_t{64} << 20;
  uint64_t most = kMost;
  std::string text;
  uint64_t left_out = 0;  // attributes that found no room
};

// A JSON object. Numbers, texts and lists of up to 64 of them are given; longer lists, tensors and graphs are named in brackets. With
// `bytes`, everything that JSON does not hold whole is {"ref": [offset, size], "text": the name in brackets}, and its AttributeProto is
// there.
Json attributes_of(const Node& node, AttributeBytes* bytes = nullptr);
std::string attributes_json(const Node& node);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NODE_ATTRIBUTES_H_
