// Files of tensors that a program saves when something failed: the C function tensortap_write_exception().

#ifndef TENSORTAP_TREE_EXCEPTION_FILE_H_
#define TENSORTAP_TREE_EXCEPTION_FILE_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/dump_data/dump_data_file.h"

namespace tensortap {

// A description with its payload, borrowed.
struct ExceptionTensor {
  DumpDataTensor description;
  std::span<const std::byte> payload;
};

struct ExceptionFile {
  std::string name;
  std::string tag;  // "" = none
  std::vector<ExceptionTensor> inputs;
  std::vector<ExceptionTensor> outputs;
  std::vector<ExceptionTensor> workspaces;
};

// Writes a new file of mode 0400, whole or not at all. Errors: kUnsupported when `path` exists; kIo, kExhausted.
Status write_exception_file(const std::string& path, const ExceptionFile& content);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_EXCEPTION_FILE_H_
