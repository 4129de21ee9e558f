#include "format/npy/npy.h"

#include "base/text.h"
#include "format/npy/npy_header.h"

namespace tensortap {

bool npy_holds(DType dtype) { return npy_names(dtype); }

bool npy_recognise(std::span<const std::byte> head) { return is_npy(head); }

Result<std::vector<NamedTensor>> npy_decode(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(NamedTensor tensor, decode_npy(bytes));
  std::vector<NamedTensor> tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

Result<std::string> npy_encode(std::span<const NamedTensor> tensors) {
  if (tensors.size() != 1) return unsupported(concat("npy: a file holds one tensor, not ", tensors.size(), "; npz holds several"));
  return encode_npy(tensors[0].view);
}

}  // namespace tensortap
