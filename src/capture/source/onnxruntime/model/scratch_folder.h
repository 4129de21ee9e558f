// A folder for files that live as long as a session. The destructor removes it with all that is in it. If the process was killed, the next
// process that makes such a folder removes it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SCRATCH_FOLDER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SCRATCH_FOLDER_H_

#include <string>
#include <utility>

#include "base/files.h"
#include "base/status.h"

namespace tensortap::onnxruntime {

class ScratchFolder {
 public:
  ScratchFolder() = default;
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})), held_(std::move(other.held_)) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  // A new, empty folder of the user alone under TMPDIR, or /tmp. Its path is absolute and without links. Removes those that dead processes
  // of the user left there.
  static Result<ScratchFolder> create();

  [[nodiscard]] const std::string& path() const { return path_; }  // "" = none

 private:
  std::string path_;
  File held_;  // locked: the process lives
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SCRATCH_FOLDER_H_
