// Running operators that programs call by themselves.

#ifndef TENSORTAP_SOURCE_ACL_SINGLE_OP_H_
#define TENSORTAP_SOURCE_ACL_SINGLE_OP_H_

#include <memory>
#include <string>
#include <vector>

#include "source/acl/objects.h"

namespace tensortap::acl_source {

// One call, with what it refers to held.
struct OpCall {
  std::string type;
  std::vector<std::shared_ptr<aclTensorDesc>> input_descs;
  std::vector<std::shared_ptr<aclDataBuffer>> inputs;
  std::vector<std::shared_ptr<aclTensorDesc>> output_descs;
  std::vector<std::shared_ptr<aclDataBuffer>> outputs;
  std::shared_ptr<aclopAttr> attributes;
  aclrtStream stream = nullptr;
  bool tells_shapes = false;  // the output descriptions get the shapes that came out
};

// Thread-safe.
namespace single_ops {

// Loads the operator unless it is loaded. ACL_ERROR_OP_NOT_FOUND when there is none that takes this.
aclError compile(const OpCall& call);
// Runs in the order of the stream and returns when it has run.
aclError execute(const OpCall& call);
// Unloads all operators and finishes their dumps.
void forget();
// As EngineModel has it.
void finish_at_exit();

}  // namespace single_ops
}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_SINGLE_OP_H_
