// The format msit_bin: one nameless tensor as `msit llm dump` writes it. docs/formats/msit_bin.md.

#ifndef TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_H_
#define TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_H_

#include "format/format.h"

namespace tensortap {

bool msit_bin_recognise(std::span<const std::byte> head);
// Errors: also kUnsupported for a file that describes its tensor and has no elements.
Result<std::vector<NamedTensor>> msit_bin_decode(std::span<const std::byte> bytes);
Result<std::string> msit_bin_encode(std::span<const NamedTensor> tensors);
Result<std::vector<DescribedTensor>> msit_bin_describe(std::span<const std::byte> bytes);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_MSIT_BIN_MSIT_BIN_H_
