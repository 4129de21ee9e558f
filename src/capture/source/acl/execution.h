// Running a model on data sets.

#ifndef TENSORTAP_SOURCE_ACL_EXECUTION_H_
#define TENSORTAP_SOURCE_ACL_EXECUTION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "source/acl/models.h"
#include "source/acl/objects.h"
#include "tensortap/capture.h"

namespace tensortap::acl_source {

// Runs once. `stream` is that of exceptions. Thread-safe; the data sets must live until it returns.
aclError run_model(Model& model, const aclmdlDataset* input, aclmdlDataset* output, uint32_t stream);

// A buffer whose memory was allocated here and holds what it says. A buffer without memory and size is fine where `may_be_empty`.
aclError check_buffer(const aclDataBuffer& buffer, bool may_be_empty);

// Stores an output in a buffer; a buffer without memory and size gets new memory. ACL_ERROR_MODEL_OUTPUT_NOT_MATCH when the output does not
// fit, ACL_ERROR_UNSUPPORTED_DATA_TYPE for strings.
aclError store_output(const tensortap_tensor& made, aclDataBuffer& buffer);

tensortap_tensor input_tensor(aclDataType type, const std::vector<int64_t>& dims, const void* data);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_EXECUTION_H_
