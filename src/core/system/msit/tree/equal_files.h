// Files of one dump that have equal content.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_EQUAL_FILES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_EQUAL_FILES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tensortap::msit {

// A file that was written; `stored` is "" where none was.
struct WrittenFile {
  std::string folder;  // below the root
  std::string stored;
};

// What leads from a folder to a file, both below one root: "../before/intensor0.bin".
std::string relative_path(std::string_view folder, const WrittenFile& file);

// Thread-compatible.
class EqualFiles {
 public:
  // `root` is the folder that all files are below.
  explicit EqualFiles(std::string root) : root_(std::move(root)) {}

  // What equal files have in common.
  static std::string key_of(std::string_view header, std::span<const std::byte> elements);
  // Returns the file of this key that still contains exactly these bytes; null when there is none.
  [[nodiscard]] const WrittenFile* find(const std::string& key, std::string_view header, std::span<const std::byte> elements) const;
  // Remembers a file, up to a limit.
  void add(std::string key, const WrittenFile& file);

 private:
  std::string root_;
  std::unordered_map<std::string, WrittenFile> files_;
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_EQUAL_FILES_H_
