#include "source/onnxruntime/runtime/runtime_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/code_file.h"
#include "base/files.h"
#include "base/text.h"
#include "source/onnxruntime/runtime/watched_base.h"

namespace tensortap::onnxruntime {
namespace {

// The library prints warnings about the machine and repeats every error on stderr; errors reach people through Status instead.
void drop_log_line(void*, int32_t, const char*, const char*, const char*, const char*) {}

constexpr const char* kGetOne = "Install one (pip install onnxruntime), or name one with --runtime or TENSORTAP_ONNXRUNTIME.";

Result<void*> open_library(const std::string& path) {
  if (path.find('/') != std::string::npos && !path_exists(path)) return not_found(concat("no such file: ", path, ". ", kGetOne));
  if (path.find('/') != std::string::npos) {
    if (const Status readable = check_library_file(path); !readable.ok())
      return invalid_argument(concat(readable.message(), ". ", kGetOne));
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* reason = dlerror();
  return invalid_argument(concat("cannot load ", path, " as a library: ", reason != nullptr ? reason : "unknown reason", ". ", kGetOne));
}

std::string open_to_others(const std::string& path) {
  const Status trusted = trusted_code_file(path, "").status();
  return trusted.code() == StatusCode::kUnsupported ? concat("the runtime was named and is loaded, but ", trusted.message())
                                                    : std::string();
}

}  // namespace

Result<std::shared_ptr<RuntimeLibrary>> RuntimeLibrary::open(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(void* handle, open_library(path));
  using GetApiBase = const abi::ApiBase*();
  auto* get_api_base = reinterpret_cast<GetApiBase*>(dlsym(handle, "OrtGetApiBase"));
  if (get_api_base == nullptr)
    return invalid_argument(concat(path, " is a library, but not ONNX Runtime (it has no OrtGetApiBase). ", kGetOne));
  // Under `tensortap exec` this may be the one that watches the program's sessions. It must not watch ours.
  const abi::ApiBase* base = unwatched_base(get_api_base());
  std::shared_ptr<RuntimeLibrary> library(new RuntimeLibrary());
  library->path_ = path;
  library->version_ = base->get_version_string();
  TENSORTAP_ASSIGN_OR_RETURN(library->api_, newest_api(*base, path));
  abi::Env* env = nullptr;
  const Status made = library->api_.call(ort::kCreateEnvWithCustomLogger, &drop_log_line, nullptr, abi::kLogFatal, "tensortap", &env);
  if (!made.ok()) return made.with_context(concat("starting ONNX Runtime ", path));
  library->env_ = library->api_.own(ort::kReleaseEnv, env);
  return library;
}

std::shared_ptr<const RuntimeLibrary> RuntimeLibrary::borrow(const Api& api, const abi::Env* env, std::string version) {
  std::shared_ptr<RuntimeLibrary> library(new RuntimeLibrary());
  library->api_ = api;
  library->env_ = Owned<abi::Env>(const_cast<abi::Env*>(env), Releaser<abi::Env>{[](abi::Env*) {}});
  library->version_ = std::move(version);
  return library;
}

int minor_release(std::string_view version) {
  const auto parts = split(version, '.');
  int64_t minor = -1;
  if (parts.size() < 2 || parts[0] != "1" || !parse_integer(parts[1], minor) || minor < 0 || minor > 10'000) return -1;
  return static_cast<int>(minor);
}

Result<Api> newest_api(const abi::ApiBase& base, const std::string& path) {
  const std::string version = base.get_version_string();
  const int release = minor_release(version);
  if (release < kOldestRelease) {
    return invalid_argument(concat(path, " is ONNX Runtime ", version, "; tensortap needs 1.", kOldestRelease, " or newer. ", kGetOne));
  }
  // A higher number than the library has makes it print an error line, so request exactly its own.
  const void* table = base.get_api(static_cast<uint32_t>(release));
  if (table == nullptr) return invalid_argument(concat(path, " (", version, ") has no interface for its own version. ", kGetOne));
  return Api(table, release);
}

Result<std::shared_ptr<const RuntimeLibrary>> load_runtime(const std::string& requested) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto candidates, find_runtimes(requested));
  Status last =
      not_found(concat("no ONNX Runtime library found beside tensortap, in VIRTUAL_ENV, by python3 or by the system's loader. ", kGetOne));
  for (const RuntimeCandidate& candidate : candidates) {
    auto library = RuntimeLibrary::open(candidate.path);
    if (library.ok()) {
      if (candidate.named) (*library)->warning_ = open_to_others(candidate.path);
      return std::shared_ptr<const RuntimeLibrary>(*std::move(library));
    }
    last = library.status();
    if (!candidate.origin.empty() && candidate.origin != "system loader") break;  // the user meant this one: report its error
    last = not_found(
        concat("no ONNX Runtime library found beside tensortap, in VIRTUAL_ENV, by python3 or by the system's loader. ", kGetOne));
  }
  return last;
}

}  // namespace tensortap::onnxruntime
