// Opening a dump of any layout.

#ifndef TENSORTAP_READ_OPEN_DUMP_H_
#define TENSORTAP_READ_OPEN_DUMP_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"
#include "trace/dump_index.h"

namespace tensortap {

struct FoundDump {
  std::string folder;
  const Layout* layout = nullptr;
};

// The layout of the dump in `folder` itself; null if the folder is no dump.
const Layout* recognise_layout(const std::string& folder);

// The dump at `path`, or the only one at most three folders below it. Errors: kNotFound when there is none or no such folder;
// kInvalidArgument naming them when there are several.
Result<FoundDump> locate_dump(const std::string& path);

// Opens what locate_dump() finds, or one tensor file that is no part of a dump in our own layout (read/file_dump.h).
Result<std::unique_ptr<DumpIndex>> open_dump(const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_READ_OPEN_DUMP_H_
