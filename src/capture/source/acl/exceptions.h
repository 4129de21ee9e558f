// Operators that failed: the program's callback, and what it can ask about them afterwards.

#ifndef TENSORTAP_SOURCE_ACL_EXCEPTIONS_H_
#define TENSORTAP_SOURCE_ACL_EXCEPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "source/acl/objects.h"

namespace tensortap::acl_source {

struct FailedOpFacts {
  std::string name;
  std::vector<aclTensorDesc> inputs;
  std::vector<aclTensorDesc> outputs;  // that it would have made; undefined where the graph does not describe one
};

// Thread-safe.
namespace exceptions {

void set_callback(aclrtExceptionInfoCallback callback);
// Remembers a failure and calls the callback, on the thread of the run. The task is the number that the op has in the names of exception
// files; UINT32_MAX where the op is not known. `failed_op` as tensortap_onnxruntime_model_run() reports it.
void report(const Json& failed_op, uint32_t stream, uint32_t code);
// The facts of the last failure of this task.
std::optional<FailedOpFacts> find(uint32_t task);

}  // namespace exceptions
}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_EXCEPTIONS_H_
