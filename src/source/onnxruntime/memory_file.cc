#include "source/onnxruntime/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace tensortap::onnxruntime {

MemoryFile::MemoryFile() : fd_(memfd_create("tensortap-model", MFD_CLOEXEC)) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
  blocked_.take_back();
}

std::string MemoryFile::path() const { return concat("/proc/self/fd/", fd_); }

Result<std::string> MemoryFile::model() const {
  TENSORTAP_ASSIGN_OR_RETURN(std::string bytes, read_file(path()));
  if (bytes.empty()) return internal_error("ONNX Runtime wrote no optimised model");
  return bytes;
}

}  // namespace tensortap::onnxruntime
