// The folder of a dump: created or found empty, and held by one session at a time.

#ifndef TENSORTAP_SESSION_OUTPUT_FOLDER_H_
#define TENSORTAP_SESSION_OUTPUT_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace tensortap {

// Move-only. The hold ends with the object, or with the process.
class OutputFolder {
 public:
  OutputFolder() = default;

  // Creates `out` with its parents, or takes it when it holds nothing but folders of other processes of a job (process_*, rank_*); "" makes
  // tensortap_dump/TIME, with "-2" and so on when that is taken. With more than one rank in the job the dump goes to rank_N below it. Of
  // several processes with the same folder exactly one gets it.
  // Folders that it makes have the mode of `access`; existing ones keep theirs.
  // Errors: kInvalidArgument when it is not empty, in use or no folder; kIo when it cannot be created or written.
  static Result<OutputFolder> create(const std::string& out, int32_t rank, int32_t world_size, Access access);

  // Creates `out` with its parents, or takes it as it is, for a layout that keeps dumps side by side; "" as create() has it. Errors: kIo.
  static Result<OutputFolder> share(const std::string& out, Access access);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Whether the path still leads to the folder that was created.
  [[nodiscard]] bool still_there() const;
  // Removes the files in it, unless it is shared, and every folder that create() or share() made and that is empty. Only for a dump that
  // never began.
  void discard();

 private:
  explicit OutputFolder(Access access) : access_(access) {}
  Status make_parents(const std::string& path);
  Status hold(const std::string& path);

  std::string path_;
  bool shared_ = false;
  Access access_ = Access::kPrivate;
  File lock_;
  std::vector<std::string> created_;  // outermost first
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_OUTPUT_FOLDER_H_
