// A folder of the tree of another system while it is written.

#ifndef TENSORTAP_TREE_NAMED_FOLDER_H_
#define TENSORTAP_TREE_NAMED_FOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "base/status.h"
#include "tree/file_parts.h"
#include "tree/mapping.h"

namespace tensortap {

inline constexpr size_t kLongestFileName = 255;  // bytes, as Linux has it
// The begin of the names of files that are not whole yet, except spool files (tree/spool.h). The number of the process follows.
inline constexpr std::string_view kTemporaryPrefix = ".tensortap-";

struct FolderRules {
  Access access = Access::kPrivate;
  bool read_only = false;  // finished files can only be read, as some systems leave them
  // kAtOnce: a file appears under its name and grows, with the fewest calls. kWhole: other processes see the whole file or none, also when
  // this one dies.
  enum class Visible : uint8_t { kAtOnce, kWhole } visible = Visible::kWhole;
  // How a name that is too long is replaced: by a drawn number with the name's ending, or by a number made of the whole path.
  enum class LongName : uint8_t { kDrawn, kHashed } long_name = LongName::kHashed;
};

// The number that replaces a path whose last part is too long for the file system.
std::string hashed_name(const std::string& path);

// The functions that make a file name it by its path in their errors: kUnsupported when the name is taken, kIo, kExhausted. They never
// replace a file and leave nothing behind on failure, except where noted. Thread-compatible; distinct folders are independent.
class NamedFolder {
 public:
  // Writes the content of a file, at the position of a descriptor; `path` is for messages.
  using WriteContent = std::function<Status(int file, const std::string& path)>;
  // A staged file will be moved or removed: mapping.csv does not list it.
  enum class Stage : uint8_t { kFinal, kStaged };

  // Makes the folders of `below` in `root`, which exists. No part of `below` may be a link.
  static Result<std::shared_ptr<NamedFolder>> create(const std::string& root, const std::string& below, const FolderRules& rules);
  // The same below a folder that is open.
  static Result<std::shared_ptr<NamedFolder>> create(const Folder& root, const std::string& below, const FolderRules& rules);

  // Makes a file under `name`, or under a number that mapping.csv explains if the name is too long; `stored` is its name then.
  Status write(const std::string& name, const WriteContent& content, std::string& stored, Stage stage = Stage::kFinal);
  Status write(const std::string& name, std::span<const FilePart> parts, std::string& stored);
  // The same file as `there` of `from`, by a link, or by a copy where there are no links; `copied` gets the bytes of a copy.
  Status link(const NamedFolder& from, const std::string& there, const std::string& name, std::string& stored, uint64_t& copied);
  // A symbolic link, as it is.
  Status point(const std::string& target, const std::string& name);
  Status move(NamedFolder& from, const std::string& there, const std::string& name, std::string& stored);
  // Removes a staged file, or the one that was made last.
  void remove(const std::string& stored);

  // Writes a whole file that takes the place of one that may exist; it appears at once.
  Status replace(const std::string& name, std::string_view content);
  // Writes a whole file unless one has the name.
  Status write_once(const std::string& name, std::string_view content);
  // The same as replace(), and returns when it is on the disk.
  Status rewrite(const std::string& name, std::span<const FilePart> parts);
  // Adds lines to a finished file, or makes it: all of them or nothing.
  Status append(const std::string& name, std::string_view lines);
  // Adds lines to a table, all of them or nothing. The table stays open and writable, and begins with `header`. One table per folder.
  // Errors: kUnsupported when an earlier dump left a table with other columns.
  Status append_rows(const std::string& name, std::string_view header, std::string_view rows);

  [[nodiscard]] uint64_t take_text_bytes();  // written by append functions and into mapping.csv, since the last call
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  NamedFolder(Folder folder, const FolderRules& rules) : folder_(std::move(folder)), rules_(rules) {}
  [[nodiscard]] mode_t mode() const;
  void set_mode(const File& file) const;
  template <class Give>
  Status under_stored_name(const std::string& name, Stage stage, std::string& stored, Give&& give);
  Status list_in_mapping(const std::string& stored, const std::string& name);
  Status write_at_once(const std::string& name, const WriteContent& content) const;
  Status copy(const NamedFolder& from, const std::string& there, const std::string& name, uint64_t& copied) const;
  Result<File> open_unnamed(std::string& temporary);
  [[nodiscard]] Status give_name(const File& file, const std::string& temporary, const std::string& name) const;
  Status put_in_place(const std::string& name, std::span<const FilePart> parts, bool sync);
  Status open_table(const std::string& name, std::string_view header);
  void cut(const std::string& name, size_t bytes) const;
  std::string next_temporary();

  Folder folder_;
  FolderRules rules_;
  File table_;
  uint64_t text_bytes_ = 0;
  std::string last_mapped_;      // the file that the last line of mapping.csv names, as far as we wrote it
  size_t last_mapped_line_ = 0;  // bytes of that line
  uint64_t next_temporary_ = 0;
  // Whether files without a name can be made here and given one; tried once.
  bool without_names_ = true;
  bool tried_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_NAMED_FOLDER_H_
