// Tensors of addresses, as kernels take them that read many blocks of memory.

#ifndef TENSORTAP_COMPARE_MEMORY_ADDRESSES_H_
#define TENSORTAP_COMPARE_MEMORY_ADDRESSES_H_

#include <cstdint>

#include "trace/dump_index.h"

namespace tensortap {

// Whether a record holds whole numbers of 64 bits that all look like addresses of tensors, or 0. Two runs of one program have other
// addresses. False where its data cannot be read.
bool holds_addresses(const DumpIndex& dump, uint32_t row);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_MEMORY_ADDRESSES_H_
