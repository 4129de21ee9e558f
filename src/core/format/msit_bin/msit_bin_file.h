// The .bin file of `msit llm dump`: lines of text NAME=VALUE, then the elements of one tensor. docs/formats/msit_bin.md is the authority.

#ifndef TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_FILE_H_
#define TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

// Numbers of the order of elements that we write.
inline constexpr int32_t kMsitFormatNd = 2;
inline constexpr int32_t kMsitFormatNc1hwc0 = 3;

// What a header says, and where the elements lie.
struct MsitBinFile {
  TensorDesc desc;                 // kUndefined for a type that is not ours and has no elements in the file
  int32_t format = kMsitFormatNd;  // number of the order of elements
  TensorStats stats;               // as far as the header has them
  bool has_data = false;           // whether the header promises elements
  uint64_t data_begin = 0;         // their place in the file
  uint64_t data_bytes = 0;         // of the elements, without padding
  uint64_t bytes_there = 0;        // how many of these the file holds: fewer than data_bytes when it was cut
  uint64_t object_end = 0;         // where the file could end; 0 when it was cut
  uint64_t left_over = 0;          // bytes behind that: padding, or another file that was appended to this one
};

// Bytes with which the header of a tensor of few dimensions is read in one go.
inline constexpr size_t kMsitBinHead = 1024;

// Reads the header at the begin of a file of `file_bytes` bytes, of which `head` are the first ones. Untrusted input: the elements of
// a result that has bytes_there == data_bytes lie in the file. Errors: kCorrupt, also where `head` ends before the header does;
// kUnsupported for more dimensions than kMaxRank.
Result<MsitBinFile> parse_msit_bin(std::span<const std::byte> head, uint64_t file_bytes);

// Whether the bytes begin a file as msit and we write it. If such bytes follow the end of a file, two dumps were written to the same path.
bool begins_msit_bin(std::span<const std::byte> bytes);

// The parts of a header.
struct MsitBinHeader {
  TensorDesc desc;
  int32_t format = kMsitFormatNd;
  const TensorStats* stats = nullptr;  // null: no lines of statistics
  bool has_data = true;
};

// The header's text. A tensor without dimensions is written as one of one element: the system's own reader knows no other. Errors:
// kUnsupported for a type that the format has no number for.
Result<std::string> make_msit_bin_header(const MsitBinHeader& header);

// Whether the format has a number for the type.
bool msit_bin_holds(DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_FILE_H_
