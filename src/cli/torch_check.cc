#include "cli/torch_check.h"

#include <dlfcn.h>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/child_process.h"
#include "cli/installed_files.h"
#include "cli/torch_installation.h"

namespace tensortap::cli {
namespace {

// "" when the library can be loaded with everything that it needs.
std::string loading_problem(const std::string& library) {
  const auto answer = in_own_process([&library] {
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return std::string();
    const char* reason = dlerror();
    return std::string(reason != nullptr ? reason : "it cannot be loaded");
  });
  return answer.ok() ? *answer : answer.status().message();
}

Json adapters_in(const std::vector<std::string>& folders) {
  Json found = Json::array();
  for (const std::string& folder : folders) {
    const auto names = list_directory(folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (torch_release_of_adapter(name)) found.push_back({{"folder", folder}, {"file", name}});
    }
  }
  return found;
}

}  // namespace

Json examine_torch(const std::string& python) {
  Json report = {{"preload", nullptr}, {"library", nullptr},        {"onnxruntime_library", nullptr},
                 {"problem", nullptr}, {"adapters", Json::array()}, {"releases", ""},
                 {"torch", nullptr},   {"torch_problem", nullptr}};
  const auto installed = find_installed_files();
  if (!installed.ok()) {
    report["problem"] = installed.status().message();
    return report;
  }
  report["preload"] = installed->preload_library;
  report["library"] = installed->pytorch_library;
  report["onnxruntime_library"] = installed->onnxruntime_library;
  for (const std::string& library : {installed->preload_library, installed->pytorch_library, installed->onnxruntime_library}) {
    if (const std::string problem = loading_problem(library); !problem.empty()) report["problem"] = problem;
  }
  const auto folders = adapter_folders(*installed);
  report["adapters"] = adapters_in(folders);
  report["releases"] = adapter_releases(*installed);
  const auto torch = torch_of_python(python);
  if (!torch.ok()) {
    report["torch_problem"] = torch.status().message();
    return report;
  }
  const auto adapter = adapter_for(*torch, *installed);
  const bool none = adapter.status().code() == StatusCode::kNotFound;
  report["torch"] = {{"python", python},
                     {"version", torch->release.text},
                     {"library", torch->library},
                     {"adapter", adapter.ok() ? Json(*adapter) : Json()},
                     {"adapter_problem", adapter.ok() || none ? Json() : Json(adapter.status().message())},
                     {"command", none ? Json(build_command(*torch)) : Json()}};
  return report;
}

}  // namespace tensortap::cli
