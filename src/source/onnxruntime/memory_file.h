// A file in memory that the runtime writes an optimised model to.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_

#include <string>

#include "base/size_signal.h"
#include "base/status.h"

namespace tensortap::onnxruntime {

// While it is there the runtime's write beyond the program's limit for files (ulimit -f) fails on this thread and sends no signal: it is ours.
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
  SizeSignalBlocked blocked_;
  int fd_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MEMORY_FILE_H_
