// A file in memory that the runtime writes an optimised model to.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_

#include <string>

#include "base/status.h"

namespace tensortap::onnxruntime {

class MemoryFile {
 public:
  MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  [[nodiscard]] std::string path() const;  // for this process alone
  // What was written. Errors: kIo; kInternal when that is nothing.
  [[nodiscard]] Result<std::string> model() const;

 private:
  int fd_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_
