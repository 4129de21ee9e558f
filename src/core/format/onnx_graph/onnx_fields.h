// Field numbers of onnx.proto, as far as they are used here, and reading that turns protozero's exceptions into Status.

#ifndef TENSORTAP_FORMAT_ONNX_GRAPH_ONNX_FIELDS_H_
#define TENSORTAP_FORMAT_ONNX_GRAPH_ONNX_FIELDS_H_

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "base/protobuf.h"
#include "base/status.h"
#include "base/text.h"
#include "format/onnx_tensor/tensor_proto.h"

namespace tensortap::onnx_type {
inline constexpr int32_t kFloat = 1, kBool = 9;
}

namespace tensortap::onnx_field {

inline constexpr size_t kMostDims = 1024;  // of a tensor's shape; more means damage

namespace model {
inline constexpr uint32_t kIrVersion = 1, kGraph = 7, kOpsetImport = 8, kFunctions = 25;
}
namespace graph {
inline constexpr uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13, kSparseInitializer = 15;
}
namespace node {
inline constexpr uint32_t kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7;
}
namespace attribute {
inline constexpr uint32_t kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kGraph = 6, kFloats = 7, kInts = 8, kStrings = 9,
                          kGraphs = 11, kTypeProto = 14, kType = 20;
inline constexpr int32_t kTypeIsFloat = 1, kTypeIsInt = 2, kTypeIsString = 3, kTypeIsGraph = 5, kTypeIsFloats = 6, kTypeIsInts = 7,
                         kTypeIsStrings = 8;
}  // namespace attribute
namespace tensor = tensor_field;
namespace value_info {
inline constexpr uint32_t kName = 1, kType = 2;
}
namespace type {
inline constexpr uint32_t kTensor = 1, kSequence = 4, kMap = 5, kOpaque = 7, kSparse = 8, kOptional = 9;
inline constexpr uint32_t kOpaqueDomain = 1, kOpaqueName = 2;
inline constexpr uint32_t kElementType = 1, kShape = 2, kDimension = 1, kDimensionValue = 1, kDimensionName = 2;
}  // namespace type
namespace opset {
inline constexpr uint32_t kDomain = 1, kVersion = 2;
}

inline std::string_view text(protozero::data_view view) { return {view.data(), view.size()}; }
inline protozero::data_view view(std::string_view text) { return {text.data(), text.size()}; }

// Runs code that reads protobuf and returns Status or Result; whatever it throws becomes kCorrupt.
template <class Code>
auto guarded(std::string_view name, Code&& code) -> decltype(code()) {
  try {
    return std::forward<Code>(code)();
  } catch (const protozero::exception& error) {
    return corrupt(concat(name, " is not a whole ONNX model: ", error.what(), ". Is the file cut short, or another kind of file?"));
  } catch (const std::exception& error) {
    return internal_error(concat(name, ": ", error.what()));
  }
}

// One field as it is in the bytes, for copying and rewriting.
struct RawField {
  uint32_t tag = 0;
  std::string_view whole;  // key, length and content
  std::string_view value;  // content of a length-delimited field, "" otherwise
};

// Reads the next field and moves behind it; false at the end.
inline bool next_raw(protozero::pbf_reader& reader, RawField& raw) {
  const auto before = reader.data();
  if (!reader.next()) return false;
  raw.tag = reader.tag();
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    raw.value = text(reader.get_view());
  } else {
    raw.value = {};
    reader.skip();
  }
  raw.whole = {before.data(), before.size() - reader.data().size()};
  return true;
}

}  // namespace tensortap::onnx_field

#endif  // TENSORTAP_FORMAT_ONNX_GRAPH_ONNX_FIELDS_H_
