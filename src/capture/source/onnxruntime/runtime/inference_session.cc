#include "source/onnxruntime/runtime/inference_session.h"

#include "base/code_file.h"
#include "base/files.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::string_view kPythonHint =
    "This library needs a process of Python. tensortap.run(MODEL, custom_ops=[LIBRARY]) in Python loads it, and so does a program under "
    "tensortap exec.";

// Whether the loader lacks functions that a Python interpreter has.
bool needs_python(std::string_view message) {
  constexpr std::string_view kUndefined = "undefined symbol: ";
  const size_t at = message.find(kUndefined);
  if (at == std::string_view::npos) return false;
  const std::string_view symbol = message.substr(at + kUndefined.size());
  return symbol.starts_with("Py") || symbol.starts_with("_Py");
}

// The library stays loaded: its operators are in use until the last session is gone.
Status add_custom_ops(const Api& api, abi::SessionOptions* options, const std::string& library) {
  if (!path_exists(library)) return not_found(concat("custom operators: no such library: ", library));
  TENSORTAP_RETURN_IF_ERROR(check_library_file(library).with_context("custom operators"));
  // The loader would look for a name without a folder elsewhere.
  const std::string path = library.find('/') == std::string::npos ? concat("./", library) : library;
  void* handle = nullptr;
  const Status loaded = api.call(ort::kRegisterCustomOpsLibrary, options, path.c_str(), &handle);
  if (!loaded.ok() && needs_python(loaded.message())) {
    return invalid_argument(concat("custom operators of ", library, ": ", loaded.message(), ". ", kPythonHint));
  }
  return loaded.with_context(concat("custom operators of ", library));
}

Status add_extras(const Api& api, abi::SessionOptions* options, const SessionExtras& extras) {
  for (const std::string& library : extras.custom_ops) TENSORTAP_RETURN_IF_ERROR(add_custom_ops(api, options, library));
  for (const auto& [key, value] : extras.config) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddSessionConfigEntry, options, key.c_str(), value.c_str()).with_context(key));
  }
  return {};
}

Result<Owned<abi::SessionOptions>> make_options(const Api& api, const SessionSettings& settings) {
  abi::SessionOptions* raw = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateSessionOptions, &raw));
  auto options = api.own(ort::kReleaseSessionOptions, raw);
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionGraphOptimizationLevel, raw, settings.level));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionExecutionMode, raw, abi::kSequential));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetSessionLogSeverityLevel, raw, abi::kLogFatal));
  if (settings.threads > 0) TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetIntraOpNumThreads, raw, settings.threads));
  if (!settings.optimized_path.empty()) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSetOptimizedModelFilePath, raw, settings.optimized_path.c_str()));
  }
  if (!settings.profile_prefix.empty()) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kEnableProfiling, raw, settings.profile_prefix.c_str()));
  }
  TENSORTAP_RETURN_IF_ERROR(add_extras(api, raw, settings.extras));
  if (settings.domain != nullptr) TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddCustomOpDomain, raw, settings.domain));
  for (const auto& [key, value] : settings.entries) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddSessionConfigEntry, raw, key, value.c_str()));
  }
  if (!settings.external_folder.empty() && api.release() >= 21) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAddSessionConfigEntry, raw, "session.model_external_initializers_file_folder_path",
                                       settings.external_folder.c_str()));
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<InferenceSession>> InferenceSession::open(std::shared_ptr<const RuntimeLibrary> library, const std::string& path,
                                                                 std::string_view bytes, const SessionSettings& settings) {
  const Api& api = library->api();
  TENSORTAP_ASSIGN_OR_RETURN(const auto options, make_options(api, settings));
  abi::Session* raw = nullptr;
  if (bytes.empty()) {
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateSession, library->env(), path.c_str(), options.get(), &raw));
  } else {
    TENSORTAP_RETURN_IF_ERROR(
        api.call(ort::kCreateSessionFromArray, library->env(), static_cast<const void*>(bytes.data()), bytes.size(), options.get(), &raw));
  }
  std::unique_ptr<InferenceSession> session(new InferenceSession());
  session->session_ = api.own(ort::kReleaseSession, raw);
  session->library_ = std::move(library);
  return session;
}

Result<std::vector<OwnedValue>> InferenceSession::run(const std::vector<NamedValue>& inputs,
                                                      const std::vector<std::string>& outputs) const {
  std::vector<const char*> input_names;
  std::vector<const abi::Value*> input_values;
  std::vector<const char*> output_names;
  for (const NamedValue& input : inputs) {
    input_names.push_back(input.name.c_str());
    input_values.push_back(input.value);
  }
  for (const std::string& output : outputs) output_names.push_back(output.c_str());
  std::vector<abi::Value*> raw(outputs.size(), nullptr);
  const Api& api = library_->api();
  const abi::RunOptions* no_options = nullptr;
  const Status status = api.call(ort::kRun, session_.get(), no_options, input_names.data(), input_values.data(), input_values.size(),
                                 output_names.data(), output_names.size(), raw.data());
  std::vector<OwnedValue> values;
  for (abi::Value* value : raw) values.push_back(api.own(ort::kReleaseValue, value));
  if (!status.ok()) return status;
  return values;
}

Result<std::string> InferenceSession::end_profiling() const {
  const Api& api = library_->api();
  abi::Allocator* allocator = nullptr;
  char* path = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetAllocatorWithDefaultOptions, &allocator));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kSessionEndProfiling, session_.get(), allocator, &path));
  std::string result = path != nullptr ? path : "";
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kAllocatorFree, allocator, static_cast<void*>(path)));
  return result;
}

}  // namespace tensortap::onnxruntime
