// The ops of a model, without running it.

#ifndef TENSORTAP_CLI_FILES_MODEL_OPS_H_
#define TENSORTAP_CLI_FILES_MODEL_OPS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/op_info.h"

namespace tensortap::cli {

struct ModelOps {
  std::vector<std::string> names;  // by which configs may call the model: its file's and its graph's
  std::vector<OpInfo> ops;         // in execution order
};

// The ops that would run, as the runtime optimises the model. `runtime` "" = searched for; `custom_ops` are libraries with operators of the
// model.
Result<ModelOps> ops_of_model(const std::string& model, const std::string& runtime, const std::vector<std::string>& custom_ops);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_MODEL_OPS_H_
