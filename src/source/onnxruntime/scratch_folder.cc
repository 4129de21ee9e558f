#include "source/onnxruntime/scratch_folder.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/environment.h"
#include "base/files.h"

namespace tensortap::onnxruntime {
namespace {

void remove_folder(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

}  // namespace

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchFolder::~ScratchFolder() { remove_folder(path_); }

Result<ScratchFolder> ScratchFolder::create() {
  std::string pattern = join_path(environment_value("TMPDIR").value_or("/tmp"), "tensortap-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return errno_status(pattern, errno);
  ScratchFolder folder;
  // The runtime refuses weights behind a link that leads out of their folder.
  char real[PATH_MAX];
  folder.path_ = realpath(pattern.c_str(), real) != nullptr ? std::string(real) : pattern;
  return folder;
}

}  // namespace tensortap::onnxruntime
