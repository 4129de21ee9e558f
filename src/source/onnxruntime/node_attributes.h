// Attributes of a node as JSON, for people and for dumps that list them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_NODE_ATTRIBUTES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_NODE_ATTRIBUTES_H_

#include <string>

#include "base/json_fwd.h"
#include "source/onnxruntime/onnx_model.h"

namespace tensortap::onnxruntime {

// A JSON object. Numbers, texts and lists of up to 64 of them are given; longer lists, tensors and graphs are named in brackets.
Json attributes_of(const Node& node);
std::string attributes_json(const Node& node);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_NODE_ATTRIBUTES_H_
