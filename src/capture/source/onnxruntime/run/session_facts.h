// What run.json says of the runtime and of the graph that ran, for who wants to run it again (docs/layouts/tap.md).

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_FACTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_FACTS_H_

#include <string>
#include <utility>
#include <vector>

#include "source/onnxruntime/model/onnx_model.h"
#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

// By name, as JSON texts: what tensortap_add_fact() takes. `library` "" = its path is not known.
using RuntimeFacts = std::vector<std::pair<std::string, std::string>>;
RuntimeFacts runtime_facts(const Model& executed, const std::string& library, const std::vector<std::string>& custom_ops);
void add_facts(tensortap_session* session, const RuntimeFacts& facts);

// The path of the ONNX Runtime that this process has loaded; "" when there is none or more than one.
std::string loaded_runtime_path();

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_FACTS_H_
