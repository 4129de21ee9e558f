// Copies of tensors as records keep them.

#ifndef TENSORTAP_SESSION_COPY_ELEMENTS_H_
#define TENSORTAP_SESSION_COPY_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stats/digest.h"
#include "tensor/tensor.h"
#include "trace/record_row.h"

namespace tensortap {

// Bytes of a copy of a view of `numel` elements: packed elements, or string elements followed by their characters. Nothing on overflow.
std::optional<uint64_t> copy_bytes(const TensorView& view, uint64_t numel);

// Makes the copy in memory of that size. Copied string elements point into the copy.
void copy_elements(const TensorView& view, uint64_t numel, std::byte* target);

// Puts a digest of the elements into the columns of a record.
void put_digest(const Digest& digest, RecordRow& row);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_COPY_ELEMENTS_H_
