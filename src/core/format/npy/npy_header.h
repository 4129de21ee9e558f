// The header of NumPy's .npy files, versions 1.0 to 3.0: parsed from untrusted bytes, and made. Shared by the formats npy and npz and by
// the native layout. docs/formats/npy.md is the authority.

#ifndef TENSORTAP_FORMAT_NPY_NPY_HEADER_H_
#define TENSORTAP_FORMAT_NPY_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/format.h"
#include "tensor/tensor.h"

namespace tensortap {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr uint64_t kNpyAlignment = 64;  // of the data, as NumPy has it

// One field of a structured dtype.
struct NpyField {
  std::string name;
  std::string descr;  // "<u8"
  uint64_t count = 1;
};

struct NpyHeader {
  std::string descr;             // "" when the dtype is structured
  std::vector<NpyField> fields;  // of a structured dtype
  bool fortran_order = false;
  std::vector<int64_t> shape;  // none negative
  uint64_t data_begin = 0;     // offset of the first element
};

// Whether `head` begins as an npy file does.
bool is_npy(std::span<const std::byte> head);
// Errors: kCorrupt; kUnsupported for versions and dtypes (nested structures) that are not read.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

// Bytes of the header, magic included, by a file's first kNpyPrefix bytes. Errors: as parse_npy_header().
inline constexpr uint64_t kNpyPrefix = 12;
Result<uint64_t> npy_header_bytes(std::span<const std::byte> head);

// A whole header, magic included: version 1.0, or 2.0 when it is too long for that. `descr` is a Python literal ("'<f4'", "[('a',
// '<u8')]"). Its size is `total` when that is not 0 (it must fit), otherwise the next multiple of kNpyAlignment. The row count of
// one-dimensional shapes is padded to `count_width` digits, so that it can grow in place.
struct NpyHeaderOptions {
  uint64_t total = 0;
  int count_width = 0;
};
std::string make_npy_header(std::string_view descr, std::span<const int64_t> shape, const NpyHeaderOptions& options = {});

// The npy member that holds a tensor's packed bytes: dtypes of whole bytes keep their shape (raw bits where NumPy cannot name the type),
// narrower ones are a vector of bytes, and so are strings: the sizes as uint64, one each, then all bytes.
std::string make_tensor_npy_header(const TensorDesc& desc, uint64_t data_bytes);

// Bytes that a file with this header has. Errors: as decode_npy().
Result<uint64_t> npy_file_bytes(const NpyHeader& header);

// The tensor that the whole of an npy file holds; it borrows from `bytes`, or from its owner when the elements had to be put into native
// order or are strings. Errors: kCorrupt; kUnsupported for structured, object, date and void dtypes and for ranks above kMaxRank.
Result<NamedTensor> decode_npy(std::span<const std::byte> bytes);

// Whether NumPy has a name for a dtype, so that npy holds it.
bool npy_names(DType dtype);
// A whole npy file for one tensor. Errors: kUnsupported for dtypes that NumPy has no name for.
Result<std::string> encode_npy(const TensorView& view);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_NPY_NPY_HEADER_H_
