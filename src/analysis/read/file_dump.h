// One tensor file as a dump: a record for each of its tensors.

#ifndef TENSORTAP_READ_FILE_DUMP_H_
#define TENSORTAP_READ_FILE_DUMP_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// Whether the file at `path` is of a known format, by its first bytes or its extension.
bool is_tensor_file(const std::string& path);

// The tensors of a file as the outputs of ops that have their names, a nameless one that of the file. Its layout is the name of the format.
// Statistics are those that the file itself has. Errors: kUnsupported, kCorrupt, naming the path.
Result<std::unique_ptr<DumpIndex>> open_tensor_file(const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_READ_FILE_DUMP_H_
