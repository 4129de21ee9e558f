// The format npy: one nameless tensor as NumPy saves it. docs/formats/npy.md.

#ifndef TENSORTAP_FORMAT_NPY_NPY_H_
#define TENSORTAP_FORMAT_NPY_NPY_H_

#include "format/format.h"

namespace tensortap {

bool npy_holds(DType dtype);
bool npy_recognise(std::span<const std::byte> head);
Result<std::vector<NamedTensor>> npy_decode(std::span<const std::byte> bytes);
Result<std::string> npy_encode(std::span<const NamedTensor> tensors);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_NPY_NPY_H_
