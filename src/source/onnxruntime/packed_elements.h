// Element types that a tap can only take after a Cast: back to the bits that the op made.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PACKED_ELEMENTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PACKED_ELEMENTS_H_

#include <cstdint>
#include <vector>

#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

// `tensor` holds int8, uint8 (for 2 and 4 bit integers) or float32 (for float8_e8m0) elements cast from ONNX's `element_type`. Makes it
// the original type again, with its bits in `memory`. Leaves it as it is when there is no such way.
void repack(int32_t element_type, std::vector<unsigned char>& memory, tensortap_tensor& tensor);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PACKED_ELEMENTS_H_
