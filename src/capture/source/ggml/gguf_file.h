// A model's file in the format GGUF, from which weights are read that a program no longer has as the file has them.
//
// The file is not trusted: each number of it is checked against the file's size before it is used.

#ifndef TENSORTAP_SOURCE_GGML_GGUF_FILE_H_
#define TENSORTAP_SOURCE_GGML_GGUF_FILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "source/ggml/tensor_fields.h"

namespace tensortap::ggml {

struct StoredTensor {
  std::array<int64_t, kMostDimensions> ne{1, 1, 1, 1};  // none negative; the first dimension is the fastest
  int32_t type = 0;                                     // number of ggml's type
  uint64_t begin = 0;                                   // of the file
  uint64_t room = 0;                                    // bytes from there to the end of the file
};

// Immutable; thread-safe. Holds no file open.
class GgufFile {
 public:
  // Errors: kNotFound; kIo; kCorrupt; kUnsupported for a version that is not 2 or 3.
  static Result<GgufFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return identity_.path; }
  // "llama"; "" = the file does not tell.
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  // Null = the file has no tensor of this name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  // Reads the first bytes of a tensor. Errors: kIo; kCorrupt for more than there are; kNotFound when the file was replaced or changed.
  Status read(const StoredTensor& tensor, std::span<std::byte> bytes) const;

 private:
  class Header;
  // Which file it was: another one may have its path by now.
  struct Identity {
    std::string path;
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t size = 0;
    int64_t changed_s = 0;
    int64_t changed_ns = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static Result<Identity> identity_of(const File& file);

  Identity identity_;
  std::string architecture_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GGUF_FILE_H_
