#include "source/onnxruntime/run/caller_inputs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "source/onnxruntime/runtime/inference_session.h"

namespace tensortap::onnxruntime {
namespace {

using Parts = std::span<const tensortap_onnxruntime_input>;

std::string tensor_text(const tensortap_tensor& tensor) {
  std::string text = concat(element_type(onnx_type_of(tensor.dtype)).name, " [");
  for (uint32_t i = 0; i < tensor.rank; ++i) text += concat(i == 0 ? "" : ", ", tensor.dims[i]);
  return text + "]";
}

std::string parts_text(Parts parts) {
  switch (parts.front().kind) {
    case TENSORTAP_INPUT_EMPTY:
      return "empty";
    case TENSORTAP_INPUT_MAP_KEYS:
    case TENSORTAP_INPUT_MAP_VALUES:
      return "a map";
    default:
      break;
  }
  return parts.size() == 1 ? tensor_text(parts.front().tensor) : concat("a list of ", parts.size(), " tensors");
}

Status wrong(const ValueInfo& info, const std::string& given) {
  return invalid_argument(concat("input ", quote(info.name), " must be ", type_text(info), ", but is ", given, "."));
}

bool fits(const ValueInfo& info, const tensortap_tensor& tensor) {
  if (!info.has_shape) return true;
  if (info.dims.size() != tensor.rank) return false;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (info.dims[i].size >= 0 && info.dims[i].size != tensor.dims[i]) return false;
  }
  return true;
}

bool is_tensor(const tensortap_onnxruntime_input& part) {
  return part.kind == TENSORTAP_INPUT_TENSOR || part.kind == TENSORTAP_INPUT_ELEMENT;
}

Result<OwnedValue> tensor_value(const Api& api, const ValueInfo& info, const tensortap_tensor& tensor) {
  TENSORTAP_RETURN_IF_ERROR(check_tensor(info, tensor));
  auto value = make_value(api, tensor);
  if (!value.ok()) return value.status().with_context(concat("input ", quote(info.name)));
  return value;
}

// The C interface has no function that makes an empty sequence; an operator does.
Result<OwnedValue> empty_sequence(const std::shared_ptr<const RuntimeLibrary>& library, const ValueInfo& info) {
  constexpr OperatorSet kSets[] = {{"", 11}};
  const NodeText node{"SequenceEmpty", "empty", {}, {"y"}, {int_attribute("dtype", info.element_type)}};
  std::string graph = as_field(onnx_field::graph::kNode, node_bytes(node));
  graph += as_field(onnx_field::graph::kName, "empty");
  graph += as_field(onnx_field::graph::kOutput, untyped_value_info("y"));
  SessionSettings settings;
  settings.level = abi::kOptimizeNone;
  settings.threads = 1;
  const std::string model = model_bytes(graph, kSets);
  auto session = InferenceSession::open(library, "", model, settings);
  if (!session.ok()) return session.status().with_context(concat("an empty sequence for input ", quote(info.name)));
  TENSORTAP_ASSIGN_OR_RETURN(auto outputs, (*session)->run({}, {"y"}));
  return std::move(outputs.front());
}

Result<OwnedValue> sequence_value(const Api& api, const ValueInfo& info, Parts parts) {
  std::vector<OwnedValue> elements;
  for (const tensortap_onnxruntime_input& part : parts) {
    if (!is_tensor(part)) return wrong(info, parts_text(parts));
    TENSORTAP_ASSIGN_OR_RETURN(OwnedValue element, tensor_value(api, info, part.tensor));
    elements.push_back(std::move(element));
  }
  return make_sequence(api, elements);
}

Result<OwnedValue> map_value(const Api& api, const ValueInfo& info, Parts parts) {
  if (parts.size() != 2 || parts[0].kind != TENSORTAP_INPUT_MAP_KEYS || parts[1].kind != TENSORTAP_INPUT_MAP_VALUES)
    return wrong(info, parts_text(parts));
  TENSORTAP_ASSIGN_OR_RETURN(const OwnedValue keys, make_value(api, parts[0].tensor));
  TENSORTAP_ASSIGN_OR_RETURN(const OwnedValue values, make_value(api, parts[1].tensor));
  auto map = make_map(api, keys, values);
  if (!map.ok()) return map.status().with_context(concat("input ", quote(info.name)));
  return map;
}

}  // namespace

std::string type_text(const ValueInfo& info) {
  if (info.kind == ValueKind::kMap || info.kind == ValueKind::kSequenceOfMaps) return concat("a ", to_text(info.kind));
  std::string text = info.kind == ValueKind::kTensor || info.kind == ValueKind::kNotStated ? "" : concat(to_text(info.kind), " of ");
  text += element_type(info.element_type).name;
  if (!info.has_shape) return text + " of any shape";
  text += " [";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const Dimension& dim = info.dims[i];
    text += concat(i == 0 ? "" : ", ", dim.size >= 0 ? std::to_string(dim.size) : dim.name.empty() ? "?" : std::string(dim.name));
  }
  return text + "]";
}

Status check_tensor(const ValueInfo& info, const tensortap_tensor& tensor) {
  if (dtype_number(info.element_type) == tensor.dtype && fits(info, tensor)) return {};
  return wrong(info, tensor_text(tensor));
}

Result<OwnedValue> make_given_value(const std::shared_ptr<const RuntimeLibrary>& library, const ValueInfo& info, Parts parts) {
  const Api& api = library->api();
  const bool empty = parts.front().kind == TENSORTAP_INPUT_EMPTY;
  switch (info.kind) {
    case ValueKind::kTensor:
    case ValueKind::kOptionalTensor:
      if (empty && info.kind == ValueKind::kOptionalTensor) return OwnedValue();
      if (parts.size() != 1 || !is_tensor(parts.front())) return wrong(info, parts_text(parts));
      return tensor_value(api, info, parts.front().tensor);
    case ValueKind::kSequence:
      return empty ? empty_sequence(library, info) : sequence_value(api, info, parts);
    case ValueKind::kOptionalSequence:
      return empty ? OwnedValue() : sequence_value(api, info, parts);
    case ValueKind::kMap:
      return map_value(api, info, parts);
    default:
      return unsupported(concat("input ", quote(info.name), " is a ", to_text(info.kind), ": such inputs cannot be given"));
  }
}

}  // namespace tensortap::onnxruntime
