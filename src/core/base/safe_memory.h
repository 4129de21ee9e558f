// Reading memory that may be gone: of tensors that their runtime freed, unmapped or protected in the meantime.

#ifndef TENSORTAP_BASE_SAFE_MEMORY_H_
#define TENSORTAP_BASE_SAFE_MEMORY_H_

#include <cstddef>

namespace tensortap {

// Copies `bytes` bytes of this process's memory. False, with `to` in any state, when not all of them can be read: never a fault.
// What other threads write meanwhile may be copied half. Thread-safe.
bool read_safely(const void* from, size_t bytes, void* to) noexcept;

}  // namespace tensortap

#endif  // TENSORTAP_BASE_SAFE_MEMORY_H_
