#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {

std::optional<std::vector<int64_t>> given_dims(int count, const int64_t* dims) {
  if (count < 0 || count > kMostDescribedDims || (count > 0 && dims == nullptr)) return std::nullopt;
  std::vector<int64_t> copy;
  for (int i = 0; i < count; ++i) {
    if (dims[i] < -2 || (dims[i] == -2 && count > 1)) return std::nullopt;
    copy.push_back(dims[i]);
  }
  return copy;
}

std::shared_ptr<aclTensorDesc> describe_tensor(aclDataType type, std::span<const int64_t> dims, aclFormat format) {
  auto desc = std::make_shared<aclTensorDesc>();
  desc->type = type;
  desc->format = format;
  desc->unknown_rank = dims.size() == 1 && dims[0] == -2;
  if (!desc->unknown_rank) desc->dims.assign(dims.begin(), dims.end());
  return desc;
}

aclFormat natural_format(aclDataType type, size_t rank) {
  const bool floating = type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_DOUBLE || type == ACL_BF16;
  return rank == 4 && floating ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
}

}  // namespace tensortap::acl_source
