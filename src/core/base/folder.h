// A folder that is held open and in which no link is followed: files written, cut or removed through it lie below it, whatever other
// processes put there meanwhile.

#ifndef TENSORTAP_BASE_FOLDER_H_
#define TENSORTAP_BASE_FOLDER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"

namespace tensortap {

// Names are single names in this folder, without '/'. Move-only. Thread-compatible.
class Folder {
 public:
  // The folder at `path`, which the caller chose: links on the way to it are followed.
  static Result<Folder> open(const std::string& path);

  // The same, to be held by several.
  static Result<std::shared_ptr<const Folder>> hold(const std::string& path);

  // The folder `relative` ("a/b", "" = this one) below this one. Errors: kIo naming the first part that is a link or no folder; kNotFound.
  [[nodiscard]] Result<Folder> below(std::string_view relative) const;
  // The same, and makes with `mode` what is missing.
  [[nodiscard]] Result<Folder> make_below(std::string_view relative, mode_t mode) const;

  // A regular file that has no other name. `flags` as File::open() has them. Errors: kIo for a link or a file with a second name,
  // kInvalidArgument for what is no file, kNotFound.
  [[nodiscard]] Result<File> open_file(std::string_view name, int flags, Access access = Access::kPrivate) const;
  // A new file called `temporary` until it is whole and gets the name `name`, which errors have, those of writing included.
  [[nodiscard]] Result<File> make_temporary(std::string_view temporary, std::string_view name, Access access = Access::kPrivate) const;
  // Whether something has this name, a link included.
  [[nodiscard]] bool contains(std::string_view name) const;
  // Writes under a temporary name, then renames: others see the old file or the whole new one, which has the mode of the old.
  [[nodiscard]] Status replace_file(std::string_view name, std::string_view content, Access access = Access::kPrivate) const;
  // Renames a file, or a link itself, within this folder. Replaces what has the new name. Errors contain the new name.
  [[nodiscard]] Status rename(std::string_view from, std::string_view to) const;
  // Removes a file, or a link and not what it leads to.
  [[nodiscard]] Status remove(std::string_view name) const;

  [[nodiscard]] int fd() const { return folder_.fd(); }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  explicit Folder(File folder) : folder_(std::move(folder)) {}
  // `mode`: makes it when it is not 0.
  [[nodiscard]] Result<Folder> walk(std::string_view relative, mode_t mode) const;
  File folder_;
};

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FOLDER_H_
