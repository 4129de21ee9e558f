// The format npz: named tensors in a ZIP archive, as NumPy saves them. docs/formats/npz.md.

#ifndef TENSORTAP_FORMAT_NPZ_NPZ_H_
#define TENSORTAP_FORMAT_NPZ_NPZ_H_

#include "format/format.h"

namespace tensortap {

bool npz_holds(DType dtype);
bool npz_recognise(std::span<const std::byte> head);
Result<std::vector<NamedTensor>> npz_decode(std::span<const std::byte> bytes);
Result<std::string> npz_encode(std::span<const NamedTensor> tensors);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_NPZ_NPZ_H_
