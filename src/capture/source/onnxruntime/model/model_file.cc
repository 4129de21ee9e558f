#include "source/onnxruntime/model/model_file.h"

#include <sys/mman.h>

#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/runtime/inference_session.h"

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

Result<OptimizedModel> optimize_with(const std::shared_ptr<const RuntimeLibrary>& library, const ModelFile& file,
                                     const OptimizeOptions& options) {
  SessionSettings settings = pass_settings(file, options);
  PassFiles files(options.weights);
  settings.optimized_path = files.path();
  if (const std::string name = files.weights_name(); !name.empty()) {
    settings.entries.emplace_back(kWeightsFileEntry, name);
    settings.entries.emplace_back(kWeightsSizeEntry, kLargeWeight);
  }
  TENSORTAP_RETURN_IF_ERROR(InferenceSession::open(library, file.path(), {}, settings).status());
  return files.take_model();
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

void ModelFile::release_memory() const {
  if (!map_.bytes().empty()) madvise(const_cast<char*>(map_.text().data()), map_.text().size(), MADV_DONTNEED);
}

Result<OptimizedModel> optimize_model(const std::shared_ptr<const RuntimeLibrary>& library, const ModelFile& file,
                                      const OptimizeOptions& options) {
  auto model = optimize_with(library, file, options);
  if (const auto other = instead_of(options.weights); !model.ok() && other.has_value()) {
    model = optimize_with(library, file, {options.level, options.threads, options.extras, *other});
  }
  // The runtime folds constants, and the new weights may pass 2 GB: what a protobuf message can hold.
  if (!model.ok() && is_size_limit(model.status())) {
    model = optimize_with(library, file, {options.level, options.threads, options.extras, PassWeights::kApart});
  }
  if (model.ok() && model->external_folder.empty()) model->external_folder = file.folder();
  return model;
}

}  // namespace tensortap::onnxruntime
