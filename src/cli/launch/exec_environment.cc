#include "cli/launch/exec_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kSeparators = " :";

bool is_sanitizer(std::string_view library) {
  const std::string_view name = library.substr(library.rfind('/') + 1);
  for (const std::string_view begin : {"libasan.", "libtsan.", "libubsan.", "liblsan.", "libhwasan.", "libclang_rt."}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

}  // namespace

std::string with_preloaded(std::string_view preloaded, std::string_view library) {
  std::vector<std::string> first;
  std::vector<std::string> rest;
  while (!preloaded.empty()) {
    const size_t end = std::min(preloaded.find_first_of(kSeparators), preloaded.size());
    const std::string_view one = preloaded.substr(0, end);
    preloaded.remove_prefix(std::min(end + 1, preloaded.size()));
    if (one.empty() || one == library) continue;
    (rest.empty() && is_sanitizer(one) ? first : rest).emplace_back(one);
  }
  first.emplace_back(library);
  first.insert(first.end(), rest.begin(), rest.end());
  return join(first, ":");
}

Result<ExecFolder> ExecFolder::create(const Json& request, Access access) {
  std::string path = join_path(environment_value("TMPDIR").value_or("/tmp"), "tensortap-exec-XXXXXX");
  if (!path.starts_with('/')) path = std::filesystem::absolute(path).string();
  if (mkdtemp(path.data()) == nullptr) {
    return errno_status(concat("a temporary folder like ", path, " cannot be made (TMPDIR chooses where)"), errno);
  }
  ExecFolder folder(path);
  const std::string file = join_path(path, "request.json");
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(file, to_json_text(request) + "\n"));
  // Whatever the umask: those that the dump's folder lets in are meant.
  const bool failed = access == Access::kShared && (chmod(file.c_str(), 0644) != 0 || chmod(path.c_str(), 01777) != 0);
  if (failed) return errno_status(path, errno);
  return folder;
}

ExecFolder::~ExecFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ExecFolder::name() const { return file_name(path_); }

Result<Variables> ExecFolder::variables(const InstalledFiles& installed) const {
  // By a path that the runtime of AddressSanitizer accepts in front of it: src/capture/source/preload/before_libasan.so/README.
  std::string library = concat(installed.libraries, "/before_libasan.so/../", file_name(installed.preload_library));
  if (!path_exists(library)) library = installed.preload_library;
  // LD_PRELOAD has no way to write these in a path.
  if (library.find_first_of(" :$") != std::string::npos) {
    library = concat(path_, "/before_libasan.so.", file_name(installed.preload_library));
    if (symlink(installed.preload_library.c_str(), library.c_str()) != 0) return errno_status(library, errno);
  }
  return Variables{
      {"TENSORTAP_EXEC", join_path(path_, "request.json")},
      {"TENSORTAP_PYTORCH_LIBRARY", installed.pytorch_library},
      {"TENSORTAP_ONNXRUNTIME_LIBRARY", installed.onnxruntime_library},
      {"TENSORTAP_GGML_LIBRARY", installed.ggml_library},
      {"LD_PRELOAD", with_preloaded(environment_value("LD_PRELOAD").value_or(""), library)},
  };
}

}  // namespace tensortap::cli
