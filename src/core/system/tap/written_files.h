// The files of a native dump as its writer left them, listed in run.json ("files"), so that a reader can detect later changes.

#ifndef TENSORTAP_SYSTEM_TAP_WRITTEN_FILES_H_
#define TENSORTAP_SYSTEM_TAP_WRITTEN_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/folder.h"
#include "base/json_fwd.h"
#include "trace/completeness.h"

namespace tensortap::tap {

inline constexpr const char* kFilesMember = "files";

// A file that is open, with what its writer put into it.
struct WrittenFile {
  std::string name;
  const File* file;  // borrowed
  uint64_t bytes = 0;
  uint64_t rows = 0;  // records, members or lines; 0 for what has none
  bool was_cut = false;
  uint64_t records = 0;  // that have their row, their values or their name in it
};

// Writes a file that only grows, and notices when another program cuts it. Thread-compatible.
class CutWatch {
 public:
  // Adds `content` to a file into which `bytes` were written. After an error nothing of it is left.
  Status append(File& file, uint64_t bytes, std::span<const std::byte> content);
  [[nodiscard]] bool seen() const { return seen_; }

 private:
  bool seen_ = false;
};

// How another program changed the file in `folder` since it was made: "" = not at all; "removed", "replaced", "cut".
std::string_view what_became_of(const WrittenFile& written, const Folder& folder);

// {"records.npy": {"bytes", "rows", "digest"}, ...}. The digest covers a file of up to 256 KiB as a whole, and pieces of a longer one. A
// file that cannot be read is left out.
Json files_json(std::span<const WrittenFile> files);

// Compares the files in `folder` with the manifest: a file that is missing, too short or replaced is a lack. Takes the counts of what was
// written from the manifest, and the number of tensors found where their file is whole. Does nothing for a manifest without "files".
// Untrusted.
void check_written_files(const std::string& folder, const Json& manifest, Completeness& completeness);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_WRITTEN_FILES_H_
