// One folder of a tree of AscendCL while it is written: whole files or none.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILE_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"

namespace tensortap::ascend {

// The elements of one tensor, kept for the ops that read it: in memory, or in a file.
struct GePayload {
  std::vector<std::byte> memory;
  std::string path;                   // of a file with a name
  std::shared_ptr<const File> spool;  // of one without
  uint64_t at = 0;                    // in the file
  uint64_t bytes = 0;
};

// A part of a file that is about to be written: bytes, or what was kept.
struct GePart {
  std::span<const std::byte> bytes;
  std::shared_ptr<const GePayload> kept;
};

uint64_t bytes_of_part(const GePart& part);

// What is larger waits in a file.
inline constexpr uint64_t kLargestGeInMemory = uint64_t{1} << 20;

// A file without a name for tensors that have to wait and are too large for memory. What is let go gives its room on the disk back. Thread-compatible.
class Spool {
 public:
  // `folder` exists.
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  // Keeps a copy of the bytes, small ones in memory.
  Result<std::shared_ptr<const GePayload>> keep(std::span<const std::byte> bytes);

 private:
  Status open();
  std::string folder_;
  std::shared_ptr<File> file_;
  uint64_t end_ = 0;
  std::shared_ptr<uint64_t> in_memory_ = std::make_shared<uint64_t>(0);
};

// Thread-compatible; distinct folders are independent.
class GeFolder {
 public:
  // Makes the folders of `below` in `root`, which exists. Private folders and files have the real system's modes, whatever the umask.
  static Result<std::shared_ptr<GeFolder>> create(const std::string& root, const std::string& below, Access access);

  // Makes a file of these parts under `name`, or under a number that mapping.csv explains where the name is too long; `stored` says which. Other
  // processes see the whole file or none, and so do they when this one dies. kUnsupported when the name is taken; never writes to a file that is there.
  Status write(const std::string& name, std::span<const GePart> parts, std::string& stored);
  // The same in place of a file that is there.
  Status rewrite(const std::string& name, std::span<const GePart> parts);
  // The same with text, under a name that may be there and is replaced.
  Status replace(const std::string& name, std::string_view content);
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  [[nodiscard]] uint64_t written() const { return written_; }  // bytes, by the last write()

 private:
  GeFolder(Folder folder, Access access) : folder_(std::move(folder)), access_(access) {}
  Result<File> open_file(std::string& temporary);
  Status give_name(const File& file, const std::string& temporary, const std::string& name, std::string& stored);
  int link_file(const File& file, const std::string& temporary, const std::string& name);
  Status put_in_place(const std::string& name, std::span<const GePart> parts, bool sync);
  Status add_mapping(const std::string& stored, const std::string& name);

  Folder folder_;
  Access access_;
  uint64_t written_ = 0;
  uint64_t next_temporary_ = 0;
  // Whether files without a name can be made here and given one; tried once.
  bool without_names_ = true;
  bool tried_ = false;
};

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILE_H_
