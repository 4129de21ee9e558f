// A folder for files that live as long as a session: removed, with what is in it, on destruction.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_SCRATCH_FOLDER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_SCRATCH_FOLDER_H_

#include <string>
#include <utility>

#include "base/status.h"

namespace tensortap::onnxruntime {

class ScratchFolder {
 public:
  ScratchFolder() = default;
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  // A new, empty folder of the user alone under TMPDIR, or /tmp. Its path is absolute and without links.
  static Result<ScratchFolder> create();

  [[nodiscard]] const std::string& path() const { return path_; }  // "" = none

 private:
  std::string path_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_SCRATCH_FOLDER_H_
