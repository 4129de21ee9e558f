// Where a loaded library ends in memory.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_LOADED_SEGMENT_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_LOADED_SEGMENT_H_

#include <cstddef>

namespace tensortap::onnxruntime {

// Bytes from `address` to the end of the loaded segment that holds it; 0 when none does.
size_t bytes_behind(const void* address);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_LOADED_SEGMENT_H_
