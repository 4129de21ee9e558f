// Descriptions of tensors: their checks and sizes.

#ifndef TENSORTAP_SOURCE_ACL_TENSOR_DESC_H_
#define TENSORTAP_SOURCE_ACL_TENSOR_DESC_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "source/acl/objects.h"

namespace tensortap::acl_source {

inline constexpr int kMostDescribedDims = 128;

// Dimensions as a program gives them. Nothing when they are not a shape: a negative count, too many, null with dimensions, one below -2, -2
// beside others.
std::optional<std::vector<int64_t>> given_dims(int count, const int64_t* dims);

// A description of a definite tensor.
std::shared_ptr<aclTensorDesc> describe_tensor(aclDataType type, std::span<const int64_t> dims, aclFormat format);

// NCHW for four dimensions of a floating type, ND otherwise.
aclFormat natural_format(aclDataType type, size_t rank);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_TENSOR_DESC_H_
