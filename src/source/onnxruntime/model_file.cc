#include "source/onnxruntime/model_file.h"

#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "source/onnxruntime/inference_session.h"
#include "source/onnxruntime/memory_file.h"
#include "source/onnxruntime/onnx_model.h"

namespace tensortap::onnxruntime {
namespace {

SessionSettings pass_settings(const ModelFile& file, const OptimizeOptions& options) {
  SessionSettings settings;
  settings.level = options.level;
  settings.threads = options.threads;
  settings.extras = options.extras;
  // Packed weights do not change the graph, and packing them is most of the load time.
  settings.entries = {{"session.disable_prepacking", "1"}, {"session.save_model_format", "ONNX"}};
  settings.entries.emplace_back("session.load_model_format", file.is_ort_format() ? "ORT" : "ONNX");
  return settings;
}

bool is_size_limit(const Status& status) {
  return status.message().find("serialization failed") != std::string::npos ||
         status.message().find("maximum protobuf size") != std::string::npos;
}

// The runtime folds constants; when the new weights pass 2 GB, what a protobuf message can hold, they go to a file of their own.
Result<OptimizedModel> optimize_to_folder(const std::shared_ptr<const RuntimeLibrary>& library, const ModelFile& file,
                                          SessionSettings settings) {
  OptimizedModel model;
  TENSORTAP_ASSIGN_OR_RETURN(model.scratch, ScratchFolder::create());
  settings.optimized_path = join_path(model.scratch.path(), "model.onnx");
  settings.entries.emplace_back("session.optimized_model_external_initializers_file_name", "weights.bin");
  settings.entries.emplace_back("session.optimized_model_external_initializers_min_size_in_bytes", "1024");
  TENSORTAP_RETURN_IF_ERROR(InferenceSession::open(library, file.path(), {}, settings).status());
  TENSORTAP_ASSIGN_OR_RETURN(model.bytes, read_file(settings.optimized_path));
  model.external_folder = model.scratch.path();
  return model;
}

}  // namespace

Result<ModelFile> ModelFile::open(const std::string& path) {
  if (!path_exists(path)) return not_found(concat("no such model: ", path));
  if (is_directory(path)) return invalid_argument(concat(path, " is a folder, not a model file"));
  ModelFile file;
  file.path_ = path;
  TENSORTAP_ASSIGN_OR_RETURN(file.map_, MappedFile::open(path));
  file.is_ort_format_ = onnxruntime::is_ort_format(file.bytes());
  return file;
}

std::string ModelFile::folder() const {
  char buffer[PATH_MAX];
  const std::string parent = parent_path(path_);
  return realpath(parent.c_str(), buffer) != nullptr ? std::string(buffer) : parent;
}

Result<OptimizedModel> optimize_model(const std::shared_ptr<const RuntimeLibrary>& library, const ModelFile& file,
                                      const OptimizeOptions& options) {
  SessionSettings settings = pass_settings(file, options);
  const MemoryFile memory;
  settings.optimized_path = memory.path();
  const auto session = InferenceSession::open(library, file.path(), {}, settings);
  if (!session.ok() && is_size_limit(session.status())) return optimize_to_folder(library, file, settings);
  if (!session.ok()) return session.status();
  OptimizedModel model;
  TENSORTAP_ASSIGN_OR_RETURN(model.bytes, memory.model());
  model.external_folder = file.folder();
  return model;
}

}  // namespace tensortap::onnxruntime
