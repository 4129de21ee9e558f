#include "source/onnxruntime/scratch_folder.h"

#include <cerrno>
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
  folder.path_ = pattern;
  return folder;
}

}  // namespace tensortap::onnxruntime
