// The files that are mapped into this process.

#ifndef TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_
#define TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tensortap::ggml {

struct MappedPlace {
  std::string path;     // "" = no file, or it is not known
  uint64_t offset = 0;  // of the file
};

// As they were when it was made. Immutable.
class MappedFiles {
 public:
  static MappedFiles of_process();

  // The file whose content stands at an address, and where in it.
  [[nodiscard]] MappedPlace at(const void* address) const;

 private:
  struct Range {
    uintptr_t begin;
    uintptr_t end;
    uint64_t offset;
    std::string path;
  };
  std::vector<Range> ranges_;  // in the order of addresses
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_
