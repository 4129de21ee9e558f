// The C function of acl_mdl.h that describes an op that failed.

#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"
#include "source/acl/exceptions.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/objects.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

aclTensorDesc* register_array(const std::vector<aclTensorDesc>& descs) {
  if (descs.empty()) return nullptr;
  auto first = std::make_shared<aclTensorDesc>(descs.front());
  for (size_t i = 1; i < descs.size(); ++i) {
    first->siblings.push_back(std::make_shared<aclTensorDesc>(descs[i]));
    live<aclTensorDesc>().add(first->siblings.back());
  }
  return live<aclTensorDesc>().add(std::move(first));
}

struct OpDescTarget {
  char* name;
  size_t name_size;
  aclTensorDesc** inputs;
  size_t* input_count;
  aclTensorDesc** outputs;
  size_t* output_count;
};

aclError describe_failed_op(uint32_t task, const OpDescTarget& target) {
  if (target.name == nullptr || target.name_size == 0 || target.inputs == nullptr || target.input_count == nullptr ||
      target.outputs == nullptr || target.output_count == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "a pointer for the facts of the op is null, or the buffer for its name is empty");
  }
  const auto facts = exceptions::find(task);
  if (!facts) return fail(ACL_ERROR_OP_NOT_FOUND, concat("nothing is known of an op that failed as task ", task));
  if (facts->name.size() >= target.name_size) {
    return fail(ACL_ERROR_INVALID_PARAM, concat("the name of the op needs ", facts->name.size() + 1, " bytes"));
  }
  std::memcpy(target.name, facts->name.c_str(), facts->name.size() + 1);
  *target.inputs = register_array(facts->inputs);
  *target.input_count = facts->inputs.size();
  *target.outputs = register_array(facts->outputs);
  *target.output_count = facts->outputs.size();
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

extern "C" {

aclError aclmdlCreateAndGetOpDesc(uint32_t, uint32_t, uint32_t taskId, char* opName, size_t opNameLen, aclTensorDesc** inputDesc,
                                  size_t* numInputs, aclTensorDesc** outputDesc, size_t* numOutputs) {
  return tensortap::acl_source::answer([&] {
    return tensortap::acl_source::describe_failed_op(taskId, {opName, opNameLen, inputDesc, numInputs, outputDesc, numOutputs});
  });
}
}
