// Just enough of an ONNX model to know its nodes, nested graphs, weights and interface: views into the model's bytes, no copies.
// The bytes are hostile: whatever they hold, reading ends with a model or a Status.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ONNX_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ONNX_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::onnxruntime {

// What a value is. Only tensors, sequences of tensors and optional tensors can be observed.
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

struct ExternalLocation {
  std::string_view file;  // "" = the data is in the model
  uint64_t offset = 0;
  uint64_t length = 0;  // 0 = to the end of the file
};

struct Initializer {
  std::string_view name;
  std::string_view bytes;  // the TensorProto
};

// A TensorProto taken apart. `raw` or `elements` (typed fields, still encoded) or `external` holds the data.
struct TensorData {
  int32_t element_type = 0;
  std::vector<int64_t> dims;
  bool has_raw = false;
  std::string_view raw;
  ExternalLocation external;
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
  std::vector<ValueKind> input_kinds;   // as many as inputs; kNotStated where nobody makes the value
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

struct Model {
  std::string_view bytes;
  Graph graph;
  uint32_t node_count = 0;  // nested ones included
  bool has_functions = false;
};

// Errors: kCorrupt for anything that is not a whole ONNX model. `bytes` must outlive the model. `name` is for messages.
Result<Model> read_model(std::string_view bytes, std::string_view name);

// Errors: kCorrupt. Elements in typed fields (float_data and so on) are turned into plain ones in `storage`, to which `raw` then points.
Result<TensorData> read_tensor(std::string_view bytes, std::string& storage);

// The shape of a TensorProto, without its data. Empty when the bytes are damaged.
std::vector<int64_t> read_tensor_dims(std::string_view bytes);

// Whether the weight's data is in a file. Does not read data that is not.
bool is_outside(const Initializer& initializer);

// Strings of a TensorProto of type string.
Result<std::vector<std::string_view>> read_strings(std::string_view tensor_bytes);

// Whether the bytes are a model in ONNX Runtime's own format (".ort").
bool is_ort_format(std::string_view bytes);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ONNX_MODEL_H_
