// The C functions of acl_base.h about descriptions of tensors.

#include <array>
#include <string>

#include "source/acl/element_kinds.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

std::shared_ptr<aclTensorDesc> desc_of(const aclTensorDesc* handle) { return live<aclTensorDesc>().find(handle); }

// Runs `change` on the description.
template <class Change>
aclError change_desc(aclTensorDesc* handle, Change&& change) noexcept {
  return answer([&]() -> aclError {
    const auto desc = desc_of(handle);
    return desc ? change(*desc) : bad_handle("tensor description");
  });
}

template <class Value, class Ask>
Value ask_desc(const aclTensorDesc* handle, Value otherwise, Ask&& ask) noexcept {
  return answer_or<Value>(otherwise, [&]() -> Value {
    const auto desc = desc_of(handle);
    return desc ? ask(*desc) : otherwise;
  });
}

aclError set_dims(aclTensorDesc& desc, int count, const int64_t* dims) {
  const auto given = given_dims(count, dims);
  if (!given) return fail(ACL_ERROR_INVALID_PARAM, "these dimensions are no shape");
  desc.unknown_rank = given->size() == 1 && given->front() == -2;
  desc.dims = desc.unknown_rank ? std::vector<int64_t>() : *given;
  return ACL_SUCCESS;
}

// Where the dimensions of one format are in the other.
bool axes_between(aclFormat from, aclFormat to, std::array<size_t, 4>& axes) {
  if (from == ACL_FORMAT_NCHW && to == ACL_FORMAT_NHWC) {
    axes = {0, 2, 3, 1};
    return true;
  }
  if (from == ACL_FORMAT_NHWC && to == ACL_FORMAT_NCHW) {
    axes = {0, 3, 1, 2};
    return true;
  }
  return false;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::ask_desc;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::change_desc;
using tensortap::acl_source::desc_of;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  return answer_or<aclTensorDesc*>(nullptr, [&]() -> aclTensorDesc* {
    const auto given = tensortap::acl_source::given_dims(numDims, dims);
    if (!given) {
      fail(ACL_ERROR_INVALID_PARAM, "these dimensions are no shape");
      return nullptr;
    }
    return live<aclTensorDesc>().add(tensortap::acl_source::describe_tensor(dataType, *given, format));
  });
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  answer([&]() -> aclError {
    const auto gone = live<aclTensorDesc>().remove(desc);
    if (!gone) return ACL_SUCCESS;
    for (const auto& sibling : gone->siblings) live<aclTensorDesc>().remove(sibling.get());
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t dimsCount, int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return change_desc(desc, [&](aclTensorDesc& known) -> aclError {
    if (dimsRange == nullptr || dimsCount > tensortap::acl_source::kMostDescribedDims) return fail(ACL_ERROR_INVALID_PARAM, "no ranges");
    known.ranges.clear();
    for (size_t i = 0; i < dimsCount; ++i) known.ranges.emplace_back(dimsRange[i][0], dimsRange[i][1]);
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorValueRange(aclTensorDesc* desc, size_t valueCount, int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  return change_desc(desc, [&](aclTensorDesc&) -> aclError {
    return valueRange == nullptr && valueCount > 0 ? fail(ACL_ERROR_INVALID_PARAM, "no ranges") : ACL_SUCCESS;
  });
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return ask_desc(desc, ACL_DT_UNDEFINED, [](const aclTensorDesc& known) { return known.type; });
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return ask_desc(desc, ACL_FORMAT_UNDEFINED, [](const aclTensorDesc& known) { return known.format; });
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return ask_desc(desc, size_t{0}, [](const aclTensorDesc& known) -> size_t {
    uint64_t bytes = 0;
    return !known.unknown_rank && tensortap::acl_source::tensor_bytes(known.type, known.dims, bytes) ? bytes : 0;
  });
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return ask_desc(desc, size_t{0}, [](const aclTensorDesc& known) -> size_t {
    uint64_t bytes = 0;  // of elements of one byte: their number
    return !known.unknown_rank && tensortap::acl_source::tensor_bytes(ACL_UINT8, known.dims, bytes) ? bytes : 0;
  });
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return ask_desc(desc, size_t{0},
                  [](const aclTensorDesc& known) -> size_t { return known.unknown_rank ? ACL_UNKNOWN_RANK : known.dims.size(); });
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  return ask_desc(desc, int64_t{-1},
                  [&](const aclTensorDesc& known) -> int64_t { return index < known.dims.size() ? known.dims[index] : -1; });
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return answer([&]() -> aclError {
    const auto known = desc_of(desc);
    if (!known) return bad_handle("tensor description");
    if (dimSize == nullptr || index >= known->dims.size()) return fail(ACL_ERROR_INVALID_PARAM, "unknown dimension");
    *dimSize = known->dims[index];
    return ACL_SUCCESS;
  });
}

aclError aclGetTensorDescDimRange(const aclTensorDesc* desc, size_t index, size_t dimRangeNum, int64_t* dimRange) {
  return answer([&]() -> aclError {
    const auto known = desc_of(desc);
    if (!known) return bad_handle("tensor description");
    const bool open = known->unknown_rank || (index < known->dims.size() && known->dims[index] < 0);
    if (dimRange == nullptr || dimRangeNum < 2 || (!open && index >= known->dims.size())) {
      return fail(ACL_ERROR_INVALID_PARAM, "unknown dimension, or the buffer cannot hold two numbers");
    }
    const bool ranged = index < known->ranges.size();
    dimRange[0] = !open ? known->dims[index] : ranged ? known->ranges[index].first : 0;
    dimRange[1] = !open ? known->dims[index] : ranged ? known->ranges[index].second : -1;
    return ACL_SUCCESS;
  });
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  change_desc(desc, [&](aclTensorDesc& known) -> aclError {
    known.name = name != nullptr ? name : "";
    return ACL_SUCCESS;
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return ask_desc(desc, "", [](const aclTensorDesc& known) { return known.name.c_str(); });
}

aclError aclTransTensorDescFormat(const aclTensorDesc* srcDesc, aclFormat dstFormat, aclTensorDesc** dstDesc) {
  return answer([&]() -> aclError {
    const auto source = desc_of(srcDesc);
    if (!source || dstDesc == nullptr) return bad_handle("tensor description");
    std::array<size_t, 4> axes{};
    if (source->dims.size() != axes.size() || !tensortap::acl_source::axes_between(source->format, dstFormat, axes)) {
      return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "only NCHW and NHWC are turned into one another");
    }
    auto turned = std::make_shared<aclTensorDesc>(*source);
    turned->format = dstFormat;
    for (size_t i = 0; i < axes.size(); ++i) turned->dims[i] = source->dims[axes[i]];
    *dstDesc = live<aclTensorDesc>().add(std::move(turned));
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return change_desc(desc, [&](aclTensorDesc& known) -> aclError {
    known.format = format;
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return change_desc(desc, [&](aclTensorDesc& known) { return tensortap::acl_source::set_dims(known, numDims, dims); });
}

// The stored format and shape and those that the author meant are the same here.
aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat) {
  return change_desc(desc, [](aclTensorDesc&) -> aclError { return ACL_SUCCESS; });
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return change_desc(desc, [&](aclTensorDesc&) -> aclError {
    return tensortap::acl_source::given_dims(numDims, dims) ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "these dimensions are no shape");
  });
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) { return aclSetTensorFormat(desc, format); }

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) { return aclSetTensorShape(desc, numDims, dims); }

aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index) {
  return ask_desc(desc, static_cast<aclTensorDesc*>(nullptr), [&](const aclTensorDesc& known) -> aclTensorDesc* {
    if (index == 0) return desc;
    return index <= known.siblings.size() ? known.siblings[index - 1].get() : nullptr;
  });
}

void* aclGetTensorDescAddress(const aclTensorDesc* desc) {
  return ask_desc(desc, static_cast<void*>(nullptr), [](const aclTensorDesc& known) { return known.address; });
}

aclError aclSetTensorDynamicInput(aclTensorDesc* desc, const char* dynamicInputName) {
  return change_desc(desc, [&](aclTensorDesc& known) -> aclError {
    if (dynamicInputName == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "no name");
    known.dynamic_input = dynamicInputName;
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return change_desc(desc, [&](aclTensorDesc& known) -> aclError {
    if (dataBuffer == nullptr && length > 0) return fail(ACL_ERROR_INVALID_PARAM, "no data");
    const auto* bytes = static_cast<const uint8_t*>(dataBuffer);
    known.constant.assign(bytes, bytes + length);
    known.is_constant = true;
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType) {
  return change_desc(desc, [](aclTensorDesc&) -> aclError { return ACL_SUCCESS; });
}
}
