#include "cli/launch/torch_check.h"

#include <dlfcn.h>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/launch/child_process.h"
#include "cli/launch/installed_files.h"
#include "cli/launch/torch_installation.h"

namespace tensortap::cli {
namespace {

// torch is imported: nothing else knows what it can use. A driver that does not answer is given up.
constexpr const char* kDevicesQuestion =
    "import sys, signal, json\n"
    "sys.path[:1] = [] if sys.path[:1] == [''] else sys.path[:1]\n"
    "signal.alarm(60)\n"
    "import torch\n"
    "found = []\n"
    "for kind in dict.fromkeys(['cuda', 'xpu', 'npu', 'hpu', 'mtia', 'mlu', torch._C._get_privateuse1_backend_name()]):\n"
    "    module = getattr(torch, kind, None)\n"
    "    try:\n"
    "        count = module.device_count() if module and module.is_available() else 0\n"
    "        names = [str(getattr(module, 'get_device_name', lambda index: kind)(index)) for index in range(count)]\n"
    "    except Exception as error:\n"
    "        count, names = 1, [f'{type(error).__name__}: {error}'[:200]]\n"
    "    found += [{'device': f'{kind}:{index}', 'name': names[index]} for index in range(count)]\n"
    "print('DEVICES ' + json.dumps(found))\n";

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

// Null when torch did not say.
Json devices_of(const std::string& python) {
  const auto answer = ask_program({python, "-c", kDevicesQuestion});
  if (!answer.ok()) return nullptr;
  for (const std::string_view line : split(answer->out, '\n')) {
    constexpr std::string_view kFound = "DEVICES ";
    if (!line.starts_with(kFound)) continue;
    auto devices = parse_json(line.substr(kFound.size()), "the answer of the interpreter");
    if (devices.ok() && devices->is_array()) return *std::move(devices);
  }
  return nullptr;
}

}  // namespace

Json examine_torch(const std::string& python) {
  Json report = {{"preload", nullptr},      {"library", nullptr}, {"onnxruntime_library", nullptr},
                 {"ggml_library", nullptr}, {"problem", nullptr}, {"adapters", Json::array()},
                 {"releases", ""},          {"torch", nullptr},   {"torch_problem", nullptr}};
  const auto installed = find_installed_files();
  if (!installed.ok()) {
    report["problem"] = installed.status().message();
    return report;
  }
  report["preload"] = installed->preload_library;
  report["library"] = installed->pytorch_library;
  report["onnxruntime_library"] = installed->onnxruntime_library;
  report["ggml_library"] = installed->ggml_library;
  for (const std::string& library : installed->loaded()) {
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
                     {"command", none ? Json(build_command(*torch)) : Json()},
                     {"devices", devices_of(python)}};
  return report;
}

}  // namespace tensortap::cli
