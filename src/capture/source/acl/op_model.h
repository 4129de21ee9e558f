// An ONNX model of one operator, for operators that programs call by themselves.

#ifndef TENSORTAP_SOURCE_ACL_OP_MODEL_H_
#define TENSORTAP_SOURCE_ACL_OP_MODEL_H_

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "source/acl/objects.h"

namespace tensortap::acl_source {

struct OpText {
  std::string_view type;
  std::span<const aclTensorDesc* const> inputs;
  std::span<const aclTensorDesc* const> outputs;
  const aclopAttr* attributes = nullptr;  // null = none
};

// ModelProto bytes. Inputs are called "x0", "x1", ..., outputs "y0", ...; constant inputs are weights. Types that AscendCL calls otherwise
// than ONNX (RealDiv, SoftmaxV2, ...) are translated with their attributes. Errors: kUnsupported for element types that ONNX does not have,
// kInvalidArgument for attributes that have no translation.
Result<std::string> op_model(const OpText& op);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_OP_MODEL_H_
