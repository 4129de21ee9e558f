#include "source/onnxruntime/program/program_options.h"

#include <initializer_list>
#include <utility>

#include "source/onnxruntime/program/foreign_session.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int kFolderEntryRelease = 21;

using Entries = std::initializer_list<std::pair<const char*, const char*>>;

Status add_entries(const Api& api, abi::SessionOptions* options, const Entries& entries) {
  for (const auto& [key, value] : entries) TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddSessionConfigEntry, options, key, value));
  return {};
}

}  // namespace

Result<Owned<abi::SessionOptions>> copy_options(const Api& api, const abi::SessionOptions* program) {
  abi::SessionOptions* raw = nullptr;
  if (program == nullptr) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateSessionOptions, &raw));
  } else {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCloneSessionOptions, program, &raw));
  }
  return api.own(ort::kReleaseSessionOptions, raw);
}

void MarkedOptions::set(const abi::SessionOptions* options, bool has_it) {
  const std::lock_guard lock(mutex_);
  if (has_it) {
    options_.insert(options);
  } else {
    options_.erase(options);
  }
}

void MarkedOptions::copy(const abi::SessionOptions* from, const abi::SessionOptions* to) {
  const std::lock_guard lock(mutex_);
  if (options_.contains(from)) options_.insert(to);
}

bool MarkedOptions::has(const abi::SessionOptions* options) const {
  const std::lock_guard lock(mutex_);
  return options_.contains(options);
}

Result<Owned<abi::SessionOptions>> options_for_pass(const Api& api, const abi::SessionOptions* program, int32_t level,
                                                    const PassFiles& files, bool speaks) {
  TENSORTAP_ASSIGN_OR_RETURN(auto options, copy_options(api, program));
  abi::SessionOptions* raw = options.get();
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetOptimizedModelFilePath, raw, files.path().c_str()));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kDisableProfiling, raw));
  if (!speaks) TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionLogSeverityLevel, raw, int{abi::kLogFatal}));
  if (level != kProgramLevel) TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionGraphOptimizationLevel, raw, level));
  // Packed weights do not change the graph, and packing them is most of the load time.
  TENSORTAP_RETURN_IF_ERROR(add_entries(api, raw,
                                        {{"session.disable_prepacking", "1"},
                                         {"session.save_model_format", "ONNX"},
                                         {kWeightsFileEntry, files.weights_name().c_str()},
                                         {kWeightsSizeEntry, kLargeWeight}}));
  return options;
}

Result<Owned<abi::SessionOptions>> options_for_taps(const Api& api, const abi::SessionOptions* program, const std::string& weights_folder,
                                                    abi::CustomOpDomain* taps) {
  TENSORTAP_ASSIGN_OR_RETURN(auto options, copy_options(api, program));
  abi::SessionOptions* raw = options.get();
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetOptimizedModelFilePath, raw, ""));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionGraphOptimizationLevel, raw, int32_t{abi::kOptimizeNone}));
  // Runs are distinguished by their threads.
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionExecutionMode, raw, int32_t{abi::kSequential}));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddCustomOpDomain, raw, taps));
  // Even with everything off, each consumer of a DequantizeLinear, taps included, would get its own copy.
  TENSORTAP_RETURN_IF_ERROR(add_entries(api, raw,
                                        {{"session.disable_quant_qdq", "1"},
                                         {"session.load_model_format", "ONNX"},
                                         {"session.use_ort_model_bytes_directly", "0"},
                                         {"session.use_ort_model_bytes_for_initializers", "0"}}));
  if (!weights_folder.empty() && api.release() >= kFolderEntryRelease) {
    TENSORTAP_RETURN_IF_ERROR(add_entries(api, raw, {{"session.model_external_initializers_file_folder_path", weights_folder.c_str()}}));
  }
  return options;
}

}  // namespace tensortap::onnxruntime
