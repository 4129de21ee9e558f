// The C functions of include/tensortap/onnxruntime.h. Nothing thrown leaves them.

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/run/capture_run.h"
#include "source/onnxruntime/run/noise_runs.h"
#include "source/onnxruntime/run/runtime_check.h"
#include "source/onnxruntime/taps/model_description.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {
namespace {

// Memory that tensortap_free() takes.
char* owned_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Json failure(const std::string& message) { return {{"error", message}, {"failed_op", nullptr}, {"dump", nullptr}}; }

// Runs `code`, which returns a Status and fills a Json; gives both to a C caller.
template <class Code>
int answer(char** report, Code&& code) noexcept {
  try {
    Json json;
    Status status;
    try {
      status = code(json);
      if (!status.ok() && json.is_null()) json = failure(status.message());
    } catch (const std::exception& error) {
      status = internal_error(error.what());
      json = failure(status.message());
    }
    if (report != nullptr) *report = owned_text(to_json_text(json));
    return static_cast<int>(status.code());
  } catch (...) {
    if (report != nullptr) *report = nullptr;
    return TENSORTAP_INTERNAL;
  }
}

Status run(const tensortap_onnxruntime_run_options* given, Json& json) {
  if (given == nullptr) return invalid_argument("no options");
  tensortap_onnxruntime_run_options options{};
  std::memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
  TENSORTAP_ASSIGN_OR_RETURN(const RunRequest request, parse_request(options.request));
  TENSORTAP_RETURN_IF_ERROR(check_noise(request));
  CaptureRun capture(request, options);
  const Status status = capture.run();
  json = capture.report();
  return status.ok() ? run_noise(request, options, json) : status;
}

Status describe(const char* text, Json& json) {
  TENSORTAP_ASSIGN_OR_RETURN(const RunRequest request, parse_request(text));
  TENSORTAP_ASSIGN_OR_RETURN(const auto library, load_runtime(request.runtime));
  const auto model = PreparedModel::prepare(library, request.model_options());
  if (!model.ok()) return invalid_argument(model.status().message());
  json = describe_model(**model);
  return {};
}

Json examine(const RuntimeCandidate& candidate) {
  Json row = {{"path", candidate.path}, {"origin", candidate.origin}, {"version", nullptr},
              {"usable", false},        {"reason", nullptr},          {"self_test", nullptr}};
  const auto library = RuntimeLibrary::open(candidate.path);
  if (!library.ok()) {
    row["reason"] = library.status().message();
    return row;
  }
  row["version"] = (*library)->version();
  const Status test = run_self_test(*library);
  row["usable"] = test.ok();
  row["self_test"] = test.ok() ? "passed" : "failed";
  if (!test.ok()) row["reason"] = test.message();
  return row;
}

Status doctor(const char* text, Json& json) {
  RunRequest request;
  if (text != nullptr && *text != '\0') {
    TENSORTAP_ASSIGN_OR_RETURN(request, parse_request(text));
  }
  json = {{"runtimes", Json::array()}};
  const auto candidates = find_runtimes(request.runtime);
  if (!candidates.ok()) {
    json["error"] = candidates.status().message();
    return candidates.status();
  }
  for (const RuntimeCandidate& candidate : *candidates) json["runtimes"].push_back(examine(candidate));
  return {};
}

}  // namespace
}  // namespace tensortap::onnxruntime

extern "C" {

int tensortap_onnxruntime_run(const tensortap_onnxruntime_run_options* options, char** report) noexcept {
  return tensortap::onnxruntime::answer(report, [&](tensortap::Json& json) { return tensortap::onnxruntime::run(options, json); });
}

int tensortap_onnxruntime_describe(const char* request, char** report) noexcept {
  return tensortap::onnxruntime::answer(report, [&](tensortap::Json& json) { return tensortap::onnxruntime::describe(request, json); });
}

int tensortap_onnxruntime_doctor(const char* request, char** report) noexcept {
  return tensortap::onnxruntime::answer(report, [&](tensortap::Json& json) { return tensortap::onnxruntime::doctor(request, json); });
}
}
