// The C functions of acl_op.h.

#include <memory>
#include <string>

#include "acl/acl_op.h"
#include "base/files.h"
#include "base/text.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/objects.h"
#include "source/acl/single_op.h"

namespace tensortap::acl_source {
namespace {

constexpr int kMostOperands = 1024;

// The arrays of a call, as C has them.
struct OperandArrays {
  int input_count = 0;
  const aclTensorDesc* const* input_descs = nullptr;
  const aclDataBuffer* const* inputs = nullptr;  // null when only the operator is wanted
  int output_count = 0;
  const aclTensorDesc* const* output_descs = nullptr;
  const aclDataBuffer* const* outputs = nullptr;
};

template <class T>
aclError find_all(const T* const* handles, int count, std::vector<std::shared_ptr<T>>& found, const char* what) {
  if (count < 0 || count > kMostOperands || (count > 0 && handles == nullptr))
    return fail(ACL_ERROR_INVALID_PARAM, "the operands are no array");
  for (int i = 0; i < count; ++i) {
    found.push_back(live<T>().find(handles[i]));
    if (!found.back()) return bad_handle(what);
  }
  return ACL_SUCCESS;
}

aclError find_attributes(const aclopAttr* handle, OpCall& call) {
  if (handle == nullptr) return ACL_SUCCESS;
  call.attributes = live<aclopAttr>().find(handle);
  return call.attributes ? ACL_SUCCESS : bad_handle("attribute");
}

aclError bind_call(const char* type, const OperandArrays& arrays, const aclopAttr* attributes, OpCall& call) {
  if (type == nullptr || *type == '\0') return fail(ACL_ERROR_INVALID_PARAM, "the operator has no type");
  call.type = type;
  aclError error = find_all(arrays.input_descs, arrays.input_count, call.input_descs, "tensor description");
  if (error == ACL_SUCCESS) error = find_all(arrays.output_descs, arrays.output_count, call.output_descs, "tensor description");
  if (error == ACL_SUCCESS && arrays.outputs != nullptr) error = find_all(arrays.inputs, arrays.input_count, call.inputs, "data buffer");
  if (error == ACL_SUCCESS && arrays.outputs != nullptr) error = find_all(arrays.outputs, arrays.output_count, call.outputs, "data buffer");
  return error == ACL_SUCCESS ? find_attributes(attributes, call) : error;
}

struct CallStyle {
  aclrtStream stream = nullptr;
  bool tells_shapes = false;
};

aclError execute_operator(const char* type, const OperandArrays& arrays, const aclopAttr* attributes, const CallStyle& style) noexcept {
  return answer([&]() -> aclError {
    if ((arrays.input_count > 0 && arrays.inputs == nullptr) || arrays.outputs == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, "no data buffers");
    OpCall call;
    const aclError bound = bind_call(type, arrays, attributes, call);
    if (bound != ACL_SUCCESS) return bound;
    call.stream = style.stream;
    call.tells_shapes = style.tells_shapes;
    return single_ops::execute(call);
  });
}

std::vector<aclTensorDesc> copies_of(const std::vector<std::shared_ptr<aclTensorDesc>>& descs) {
  std::vector<aclTensorDesc> copies;
  for (const auto& desc : descs) copies.push_back(*desc);
  return copies;
}

aclError make_handle(const OpCall& call, aclopHandle** handle) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the handle is null");
  const aclError compiled = single_ops::compile(call);
  if (compiled != ACL_SUCCESS) return compiled;
  auto made = std::make_shared<aclopHandle>();
  made->type = call.type;
  made->inputs = copies_of(call.input_descs);
  made->outputs = copies_of(call.output_descs);
  if (call.attributes) made->attributes = *call.attributes;
  *handle = live<aclopHandle>().add(std::move(made));
  return ACL_SUCCESS;
}

aclError execute_handle(aclopHandle* handle, const OperandArrays& arrays, aclrtStream stream) {
  const auto known = live<aclopHandle>().find(handle);
  if (!known) return bad_handle("operator");
  if (arrays.input_count != static_cast<int>(known->inputs.size()))
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "the operator has other inputs");
  if (arrays.output_count != static_cast<int>(known->outputs.size()))
    return fail(ACL_ERROR_OP_OUTPUT_NOT_MATCH, "the operator has other outputs");
  OpCall call;
  call.type = known->type;
  call.stream = stream;
  call.attributes = std::make_shared<aclopAttr>(known->attributes);
  for (const aclTensorDesc& desc : known->inputs) call.input_descs.push_back(std::make_shared<aclTensorDesc>(desc));
  for (const aclTensorDesc& desc : known->outputs) call.output_descs.push_back(std::make_shared<aclTensorDesc>(desc));
  aclError error = find_all(arrays.inputs, arrays.input_count, call.inputs, "data buffer");
  if (error == ACL_SUCCESS) error = find_all(arrays.outputs, arrays.output_count, call.outputs, "data buffer");
  return error == ACL_SUCCESS ? single_ops::execute(call) : error;
}

// Sets one attribute.
template <class MakeValue>
aclError set_attribute(aclopAttr* handle, const char* name, bool valid, MakeValue&& make_value) noexcept {
  return answer([&]() -> aclError {
    const auto attributes = live<aclopAttr>().find(handle);
    if (!attributes) return bad_handle("attribute");
    if (name == nullptr || *name == '\0' || !valid) return fail(ACL_ERROR_INVALID_PARAM, "the attribute has no name, or no value");
    attributes->values[name] = make_value();
    return ACL_SUCCESS;
  });
}

aclError bind_cast(const aclTensorDesc* source, const aclTensorDesc* target, OpCall& call) {
  return bind_call("Cast", {1, &source, nullptr, 1, &target, nullptr}, nullptr, call);
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::execute_operator;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;
using tensortap::acl_source::OpCall;
using tensortap::acl_source::OperandArrays;
using tensortap::acl_source::set_attribute;

extern "C" {

aclError aclopSetModelDir(const char* modelDir) {
  return answer([&]() -> aclError {
    if (modelDir == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the folder is null");
    return tensortap::is_directory(modelDir) ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_FILE, tensortap::concat(modelDir, " is no folder"));
  });
}

aclError aclopLoad(const void* model, size_t modelSize) {
  if (model != nullptr && modelSize > 0) return ACL_SUCCESS;
  return answer([] { return fail(ACL_ERROR_INVALID_PARAM, "the operator is null or has no bytes"); });
}

aclError aclopSetMaxOpQueueNum(uint64_t maxOpNum) {
  if (maxOpNum > 0) return ACL_SUCCESS;
  return answer([] { return fail(ACL_ERROR_INVALID_PARAM, "the queue must hold something"); });
}

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  if (opt >= ACL_PRECISION_MODE && opt <= ACL_OP_JIT_COMPILE && value != nullptr) return ACL_SUCCESS;
  return answer([] { return fail(ACL_ERROR_INVALID_PARAM, "unknown option, or it has no value"); });
}

aclopAttr* aclopCreateAttr(void) {
  return answer_or<aclopAttr*>(nullptr, [] { return live<aclopAttr>().add(std::make_shared<aclopAttr>()); });
}

void aclopDestroyAttr(const aclopAttr* attr) {
  answer([&]() -> aclError {
    live<aclopAttr>().remove(attr);
    return ACL_SUCCESS;
  });
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return set_attribute(attr, attrName, true, [&] { return int64_t{attrValue != 0}; });
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return set_attribute(attr, attrName, true, [&] { return attrValue; });
}
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return set_attribute(attr, attrName, true, [&] { return attrValue; });
}
aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return set_attribute(attr, attrName, attrValue != nullptr, [&] { return std::string(attrValue); });
}
aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return aclopSetAttrInt(attr, attrName, attrValue);
}
aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues, const uint8_t* values) {
  return set_attribute(attr, attrName, numValues >= 0 && values != nullptr, [&] {
    std::vector<int64_t> list;
    for (int i = 0; i < numValues; ++i) list.push_back(values[i] != 0 ? 1 : 0);
    return list;
  });
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values) {
  return set_attribute(attr, attrName, numValues >= 0 && values != nullptr,
                       [&] { return std::vector<int64_t>(values, values + numValues); });
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues, const float* values) {
  return set_attribute(attr, attrName, numValues >= 0 && values != nullptr, [&] { return std::vector<float>(values, values + numValues); });
}
aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues, const char** values) {
  return set_attribute(attr, attrName, numValues >= 0 && values != nullptr, [&] {
    std::vector<std::string> list;
    for (int i = 0; i < numValues; ++i) list.emplace_back(values[i] != nullptr ? values[i] : "");
    return list;
  });
}

aclError aclopExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], const aclDataBuffer* const inputs[],
                      int numOutputs, const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[], const aclopAttr* attr,
                      aclrtStream stream) {
  return execute_operator(opType, {numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs}, attr, {stream, false});
}

aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[], int numOutputs,
                        aclTensorDesc* outputDesc[], aclDataBuffer* outputs[], aclopAttr* attr, aclrtStream stream) {
  return execute_operator(opType, {numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs}, attr, {stream, true});
}

aclError aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                      const aclTensorDesc* const outputDesc[], const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*) {
  return answer([&]() -> aclError {
    OpCall call;
    const aclError bound =
        tensortap::acl_source::bind_call(opType, {numInputs, inputDesc, nullptr, numOutputs, outputDesc, nullptr}, attr, call);
    return bound == ACL_SUCCESS ? tensortap::acl_source::single_ops::compile(call) : bound;
  });
}

aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs, const aclTensorDesc* const outputDesc[],
                                aclDataBuffer* const outputs[], const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                aclrtStream stream) {
  return aclopExecute(opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream);
}

aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[], int numOutputs,
                                  aclTensorDesc* outputDesc[], aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType, aclopCompileType,
                                  const char*, aclrtStream stream) {
  return aclopExecuteV2(opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream);
}

aclError aclopCreateHandle(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                           const aclTensorDesc* const outputDesc[], const aclopAttr* opAttr, aclopHandle** handle) {
  return answer([&]() -> aclError {
    OpCall call;
    const aclError bound =
        tensortap::acl_source::bind_call(opType, {numInputs, inputDesc, nullptr, numOutputs, outputDesc, nullptr}, opAttr, call);
    return bound == ACL_SUCCESS ? tensortap::acl_source::make_handle(call, handle) : bound;
  });
}

void aclopDestroyHandle(aclopHandle* handle) {
  answer([&]() -> aclError {
    live<aclopHandle>().remove(handle);
    return ACL_SUCCESS;
  });
}

aclError aclopExecWithHandle(aclopHandle* handle, int numInputs, const aclDataBuffer* const inputs[], int numOutputs,
                             aclDataBuffer* const outputs[], aclrtStream stream) {
  return answer([&] {
    return tensortap::acl_source::execute_handle(handle, {numInputs, nullptr, inputs, numOutputs, nullptr, outputs}, stream);
  });
}

aclError aclopCast(const aclTensorDesc* srcDesc, const aclDataBuffer* srcBuffer, const aclTensorDesc* dstDesc, aclDataBuffer* dstBuffer,
                   uint8_t, aclrtStream stream) {
  return execute_operator("Cast", {1, &srcDesc, &srcBuffer, 1, &dstDesc, &dstBuffer}, nullptr, {stream, false});
}

aclError aclopCreateHandleForCast(aclTensorDesc* srcDesc, aclTensorDesc* dstDesc, uint8_t, aclopHandle** handle) {
  return answer([&]() -> aclError {
    OpCall call;
    const aclError bound = tensortap::acl_source::bind_cast(srcDesc, dstDesc, call);
    return bound == ACL_SUCCESS ? tensortap::acl_source::make_handle(call, handle) : bound;
  });
}
}
