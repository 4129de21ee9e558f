// The C functions of include/tensortap/pytorch.h.

#include <dlfcn.h>
#include <tensortap/pytorch.h>

#include <cstring>
#include <mutex>
#include <string>

#include "base/json.h"
#include "base/message.h"
#include "base/silenced.h"
#include "base/text.h"
#include "exec/exec_request.h"
#include "source/pytorch/attach/adapter_loader.h"
#include "source/pytorch/attach/adapter_places.h"
#include "source/pytorch/entry/tracker.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {
namespace {

const char* open_for_python(const char* config, const char* config_name, const char* out);
const char* close_for_python();
void worker_begins();

// Loads an adapter, once per process: this file, or where it is "" the one that fits in the folders.
Status prepare(const std::string& libtorch, const std::string& file, const std::vector<std::string>& folders) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  TorchRuntime& runtime = torch_runtime();
  if (runtime.adapter.observe != nullptr) return {};
  void* library = dlopen(libtorch.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return not_found(concat(quote(libtorch), " is not loaded in this process"));
  TENSORTAP_ASSIGN_OR_RETURN(const TorchVersion version, torch_version(library, libtorch));
  tensortap_torch_adapter adapter{};
  adapter.size = sizeof adapter;
  TENSORTAP_RETURN_IF_ERROR(file.empty() ? load_adapter(version, folders, tracker_functions(), adapter)
                                         : load_adapter_file(version, file, tracker_functions(), adapter));
  runtime.adapter = adapter;
  runtime.number_of_threads = version.number_of_threads;
  follow_python(open_for_python, close_for_python, worker_begins);
  return {};
}

Result<std::string> with_folder(const char* config, const char* out) {
  const std::string text = config == nullptr ? "" : config;
  if (out == nullptr || *out == '\0') return text;
  TENSORTAP_ASSIGN_OR_RETURN(Json object, parse_json(text.empty() ? "{}" : text, "config"));
  if (!object.is_object() || (!object.empty() && !object.contains("tensortap"))) {
    return invalid_argument("a folder beside the config is for tensortap's own config language: say it in the config");
  }
  object["tensortap"] = 1;
  object["out"] = out;
  return to_json_text(object);
}

Status prepare_loaded_torch() {
  const std::string libtorch = loaded_libtorch();
  if (libtorch.empty()) return invalid_argument("this process has no libtorch: load torch before the capture is opened");
  return prepare(libtorch, "", adapter_places());
}

Status open(const char* config, const char* config_name, const char* out) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, with_folder(config, out));
  TENSORTAP_RETURN_IF_ERROR(prepare_loaded_torch());
  return open_capture(text.c_str(), config_name, "");
}

int tell(const Status& status, char* message, size_t capacity) {
  if (message != nullptr && capacity > 0) std::snprintf(message, capacity, "%s", status.message().c_str());
  return static_cast<int>(status.code());
}

// What was said last on this thread, for callers of another language.
const char* keep(std::string text) {
  static thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

const char* open_for_python(const char* config, const char* config_name, const char* out) {
  return silenced("no memory", [&] { return keep(open(config, config_name, out).message()); });
}

const char* close_for_python() {
  return silenced("{}", [] {
    std::string report = "{}";
    static_cast<void>(close_capture(&report));
    return keep(std::move(report));
  });
}

// The config with the folder that this process writes into.
Result<std::string> config_for(const ExecRequest& request) {
  return config_with_folder(request, request.shared_tree ? request.out : process_folder(request));
}

Status start(const char* libtorch) {
  const std::optional<ExecRequest> request = read_exec_request();
  if (!request) return {};
  TENSORTAP_RETURN_IF_ERROR(prepare(libtorch, "", request->adapters));
  TorchRuntime& runtime = torch_runtime();
  runtime.content_cache = request->content_cache;
  runtime.python_package = request->python_package;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string config, config_for(*request));
  return open_capture(config.c_str(), request->config_name.c_str(), request->program);
}

// A forked worker has no capture yet, a spawned one has: it began to capture like any process.
void worker_begins() {
  silenced(0, [] {
    const std::optional<ExecRequest> request = read_exec_request();
    if (!request || !request->workers) leave_fork_alone();
    if (!request) return 0;
    if (!request->workers) {
      discard_capture();
    } else if (!capture_is_open()) {
      const Status status = start(loaded_libtorch().c_str());
      if (!status.ok()) say(concat("nothing is captured in this worker: ", status.message()));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tensortap::pytorch

using namespace tensortap;
using namespace tensortap::pytorch;

void tensortap_pytorch_start(const char* libtorch) TENSORTAP_NOEXCEPT {
  silenced(0, [libtorch] {
    const Status status = start(libtorch);
    if (!status.ok()) say(concat("nothing is captured: ", status.message()));
    return 0;
  });
}

int tensortap_pytorch_open(const char* config, const char* out, char* message, size_t capacity) TENSORTAP_NOEXCEPT {
  return silenced(static_cast<int>(TENSORTAP_INTERNAL), [&] { return tell(open(config, "config", out), message, capacity); });
}

int tensortap_pytorch_prepare(char* message, size_t capacity) TENSORTAP_NOEXCEPT {
  return silenced(static_cast<int>(TENSORTAP_INTERNAL), [&] { return tell(prepare_loaded_torch(), message, capacity); });
}

int tensortap_pytorch_close(void) TENSORTAP_NOEXCEPT {
  return silenced(static_cast<int>(TENSORTAP_INTERNAL), [] { return static_cast<int>(close_capture(nullptr).code()); });
}

void tensortap_pytorch_step(void) TENSORTAP_NOEXCEPT {
  silenced(0, [] { return program_ends_step(), 0; });
}

char* tensortap_pytorch_self_test(const char* libtorch, const char* adapter_path) TENSORTAP_NOEXCEPT {
  return silenced(static_cast<char*>(nullptr), [&] {
    const Status status = prepare(libtorch, adapter_path, {});
    Json report = {{"torch", nullptr}, {"problem", nullptr}};
    if (status.ok()) {
      report["torch"] = torch_runtime().adapter.torch_version;
      if (const char* problem = torch_runtime().adapter.self_test()) report["problem"] = problem;
    } else {
      report["problem"] = status.message();
    }
    return strdup(to_json_text(report).c_str());
  });
}
