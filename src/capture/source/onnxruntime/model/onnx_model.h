// Just enough of an ONNX model to know its nodes, nested graphs, weights and interface: views into the model's bytes, no copies.
// The bytes are hostile: whatever they hold, reading ends with a model or a Status.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_ONNX_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_ONNX_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::onnxruntime {

// The kind of a value. Only tensors, sequences of tensors and optional tensors can be observed.
enum class ValueKind : uint8_t {
  kNotStated,
  kTensor,
  kSequence,
  kOptionalTensor,
  kOptionalSequence,
  kMap,
  kSequenceOfMaps,
  kSparse,
  kOther
};

std::string_view to_text(ValueKind kind);

struct Dimension {
  int64_t size = -1;      // -1 = not fixed
  std::string_view name;  // symbolic name, "" = none
};

struct ValueInfo {
  std::string_view name;
  ValueKind kind = ValueKind::kNotStated;
  int32_t element_type = 0;  // ONNX's number, of the tensor or of the sequence's elements
  bool has_shape = false;
  std::vector<Dimension> dims;
};

struct Initializer {
  std::string_view name;
  std::string_view bytes;  // the TensorProto
};

struct Graph;

struct Subgraph {
  std::string_view attribute;
  std::unique_ptr<Graph> graph;
};

struct Node {
  std::string_view bytes;
  std::string_view name;
  std::string_view type;
  std::string_view domain;  // "" = ai.onnx
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<ValueKind> output_kinds;  // as many as outputs
  std::vector<ValueKind> input_kinds;   // as many as inputs; kNotStated where no node makes the value
  std::vector<Subgraph> subgraphs;
  uint32_t index = 0;  // number in the model: nodes are counted in order, a node before those of its nested graphs
};

struct Graph {
  std::string_view bytes;
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_infos;
  std::vector<Initializer> initializers;
};

struct OperatorSetVersion {
  std::string_view domain;  // "" = ai.onnx
  int64_t version = 0;
};

struct Model {
  std::string_view bytes;
  Graph graph;
  int64_t ir_version = 0;
  std::vector<OperatorSetVersion> opsets;
  uint32_t node_count = 0;  // nested ones included
  bool has_functions = false;
};

// Errors: kCorrupt for anything that is not a whole ONNX model. `bytes` must outlive the model. `name` is for messages.
Result<Model> read_model(std::string_view bytes, std::string_view name);

// Whether the weight's data is in a file. Does not read data that is not.
bool is_outside(const Initializer& initializer);

// Whether the bytes are a model in ONNX Runtime's own format (".ort").
bool is_ort_format(std::string_view bytes);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_ONNX_MODEL_H_
