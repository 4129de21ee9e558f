// NumPy files in the trees of other systems: what NumPy reads, and besides raw bfloat16 ("<E2") and dimensions that the writer did not
// know (-1).

#ifndef TENSORTAP_TREE_NPY_MAPPED_H_
#define TENSORTAP_TREE_NPY_MAPPED_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "tensor/tensor.h"
#include "trace/dump_index.h"

namespace tensortap {

struct NpyHead {
  TensorDesc desc;
  uint64_t data_begin = 0;  // of the file
  uint64_t data_bytes = 0;  // that the header asks for
  uint64_t file_bytes = 0;
  bool plain = true;       // little endian and in C order: can be used where it lies
  bool short_of = false;   // the file ends before the data does
  bool left_over = false;  // the file goes on after the data
};

// The header in a file's first bytes. A single unknown dimension follows from the size of the file. Errors: kCorrupt, kUnsupported.
Result<NpyHead> parse_npy_head(std::span<const std::byte> bytes, uint64_t file_bytes);

// The same of the file `name` in an open folder, which must be a regular file. Errors also: kIo.
Result<NpyHead> read_npy_head(int folder, const char* name);

// Whether elements stored as one type may be of another: raw bits of a type that NumPy cannot name, such as float8 under "|u1".
bool may_be(DType stored, DType named);

// The data, mapped, or decoded where it is not plain. kCorrupt when it is no longer what `desc` says.
Result<RecordData> map_npy(const std::string& path, const TensorDesc& desc);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_NPY_MAPPED_H_
