// Weights that lie in files beside a model, for sessions that are made from edited bytes.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXTERNAL_FILES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXTERNAL_FILES_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {

// Names of the files that weights of a graph, nested ones included, lie in.
std::set<std::string> external_files(const Graph& graph);

// A session of edited bytes. From 1.21 the runtime receives the folder; older releases find files only beside a model file, so
// the bytes are written to `scratch` beside links to the files.
Result<std::unique_ptr<InferenceSession>> open_with_external_files(const PreparedModel& model, std::string_view bytes,
                                                                   const SessionSettings& settings, ScratchFolder& scratch);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXTERNAL_FILES_H_
