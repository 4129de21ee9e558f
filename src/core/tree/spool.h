// Keeps the elements of tensors until the ops that read them have their turn.

#ifndef TENSORTAP_TREE_SPOOL_H_
#define TENSORTAP_TREE_SPOOL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/folder.h"
#include "tree/file_parts.h"

namespace tensortap {

// What is larger waits in a file.
inline constexpr uint64_t kLargestInMemory = uint64_t{1} << 20;
// The begin of the name of a spool file, where the file system cannot make files without one.
inline constexpr std::string_view kSpoolPrefix = ".tensortap-spool-";

// A file without a name for tensors that are too large for memory. What is released returns its room on the disk. Thread-compatible; what
// keep() returned may outlive the spool.
class Spool {
 public:
  explicit Spool(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}
  // Keeps a copy of the bytes, small ones in memory. Errors: kIo, kExhausted.
  Result<std::shared_ptr<const KeptBytes>> keep(std::span<const std::byte> bytes);

 private:
  Status open();
  std::shared_ptr<const Folder> folder_;
  std::shared_ptr<File> file_;
  uint64_t end_ = 0;
  std::shared_ptr<uint64_t> in_memory_ = std::make_shared<uint64_t>(0);
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_SPOOL_H_
