// The parts of a file that is about to be written: bytes in memory, or elements that were kept earlier.

#ifndef TENSORTAP_TREE_FILE_PARTS_H_
#define TENSORTAP_TREE_FILE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace tensortap {

// The elements of one tensor, kept for the ops that read it: in memory, or in a file.
struct KeptBytes {
  std::vector<std::byte> memory;
  std::string path;                   // of a file with a name
  std::shared_ptr<const File> spool;  // of one without
  uint64_t at = 0;                    // in the file
  uint64_t bytes = 0;
};

struct FilePart {
  std::span<const std::byte> bytes;
  std::shared_ptr<const KeptBytes> kept;  // instead of `bytes`

  [[nodiscard]] uint64_t size() const { return kept == nullptr ? bytes.size() : kept->bytes; }
};

// Writes the parts one after another at the position of the descriptor `file`; the kernel copies parts that are in files, where it can.
// Errors name the file by `path`.
Status write_parts(int file, const std::string& path, std::span<const FilePart> parts);

// Copies `bytes` bytes of the descriptor `from`, beginning at `at`, in the same way.
Status copy_range(int from, uint64_t at, uint64_t bytes, int to, const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_FILE_PARTS_H_
