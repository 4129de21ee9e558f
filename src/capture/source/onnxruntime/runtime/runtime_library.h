// A loaded ONNX Runtime library, and the places where one is looked for.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUNTIME_LIBRARY_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUNTIME_LIBRARY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// One library with its environment. Immutable; thread-safe. The library is never unloaded: its threads and static objects would not
// survive that.
class RuntimeLibrary {
 public:
  // Errors: kNotFound when the file does not exist; kInvalidArgument when it is not a usable ONNX Runtime (not a library, broken, no
  // OrtGetApiBase, older than 1.19). The message names the cause and the remedy.
  static Result<std::shared_ptr<RuntimeLibrary>> open(const std::string& path);

  // The runtime that another part of the process has loaded, with the environment that it made. That environment must outlive this.
  static std::shared_ptr<const RuntimeLibrary> borrow(const Api& api, const abi::Env* env, std::string version);

  [[nodiscard]] const Api& api() const { return api_; }
  [[nodiscard]] const abi::Env* env() const { return env_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& version() const { return version_; }  // "1.31.1"
  // A sentence where the user named this library and other users can change it; "" otherwise.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  friend Result<std::shared_ptr<const RuntimeLibrary>> load_runtime(const std::string& requested);
  RuntimeLibrary() = default;
  Api api_;
  Owned<abi::Env> env_;
  std::string path_;
  std::string version_;
  std::string warning_;
};

// 31 of "1.31.1"; -1 when this is no release of ONNX Runtime.
int minor_release(std::string_view version);

// The interface of a library in its newest form, with its version. Errors: kInvalidArgument for a library that tensortap cannot use.
Result<Api> newest_api(const abi::ApiBase& base, const std::string& path);

struct RuntimeCandidate {
  std::string path;    // for dlopen
  std::string origin;  // where it was found: "runtime", "TENSORTAP_ONNXRUNTIME", ...
  bool named = false;  // by the user
};

inline constexpr std::string_view kLibraryName = "libonnxruntime.so";
// The library in a folder: the wheels have its full version in the name and no symlink, other packages have libonnxruntime.so.
std::optional<std::string> library_in(const std::string& folder);

// Libraries found on this machine, best first. If `requested` (a library, or a folder that contains one) is not empty, only that one.
// Errors: kNotFound when `requested` or TENSORTAP_ONNXRUNTIME names nothing usable.
Result<std::vector<RuntimeCandidate>> find_runtimes(const std::string& requested);

// The first of find_runtimes() that opens; the message of a failure lists the places that were searched. A library that the user named is
// the user's choice, and is loaded although other users can change it: warning() reports that.
Result<std::shared_ptr<const RuntimeLibrary>> load_runtime(const std::string& requested);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_RUNTIME_LIBRARY_H_
