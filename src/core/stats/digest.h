// Digests of a tensor's packed bytes (logical order, little endian). Strings are digested as length (8 bytes) and bytes, each.

#ifndef TENSORTAP_STATS_DIGEST_H_
#define TENSORTAP_STATS_DIGEST_H_

#include "tensor/digest_text.h"
#include "tensor/tensor.h"

namespace tensortap {

// A view without data or elements gives the digest of no bytes.
Digest compute_digest(const TensorView& view, DigestKind kind);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_DIGEST_H_
