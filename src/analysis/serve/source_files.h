// SourceFiles: which files of this machine a web view or a report may show lines of.

#ifndef TENSORTAP_SERVE_SOURCE_FILES_H_
#define TENSORTAP_SERVE_SOURCE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

// Dumps come from strangers, and name files. So a file is read only if it lies below one of these folders, its name is that of a source
// file, and it is older than the dump. Where the dump has the text of the line, the file must have the same text there. Immutable.
class SourceFiles {
 public:
  // Below the current folder, unless that is "/", where every file would be below it.
  SourceFiles();
  // Below the current folder and below these. Errors: kInvalidArgument for what is not a folder.
  static Result<SourceFiles> with(const std::vector<std::string>& folders);

  // {"file", "line", "first", "lines": [...], "read"} of "train.py:41": the 8 lines around it with it, `read` is the path of the file that
  // they were read from. Where no file may be read: the one line `recorded`, which the dump has, and `read` is null; null when it has none.
  // `until_ns` is when the dump was written, as the time of day in ns.
  [[nodiscard]] Json lines_json(const std::string& location, const std::string& recorded, int64_t until_ns) const;

 private:
  // Adds the folder as it is without links. "/" is taken only where it was asked for.
  Status add(const std::string& folder);

  std::vector<std::string> roots_;  // absolute, without links and without a "/" at the end
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SOURCE_FILES_H_
