#include "source/onnxruntime/packed_elements.h"

#include <cstring>

#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

// 2^(e - 127) is e; 2^-127 is a denormal float; 255 is NaN.
unsigned char e8m0_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<unsigned char>((bits & 0x7fffffffu) > 0x7f800000u ? 0xffu : (bits >> 23) & 0xffu);
}

}  // namespace

void repack(int32_t element_type, std::vector<unsigned char>& memory, tensortap_tensor& tensor) {
  const ElementType& original = onnxruntime::element_type(element_type);
  uint64_t count = 0;
  if (tensor.data == nullptr || !element_count({tensor.dims, tensor.rank}, count)) return;
  if (original.dtype == TENSORTAP_FLOAT8_E8M0 && tensor.dtype == TENSORTAP_FLOAT32) {
    memory.resize(count);
    for (uint64_t i = 0; i < count; ++i) memory[i] = e8m0_of(static_cast<const float*>(tensor.data)[i]);
  } else if ((original.bits == 2 || original.bits == 4) && (tensor.dtype == TENSORTAP_INT8 || tensor.dtype == TENSORTAP_UINT8)) {
    const unsigned per_byte = 8u / original.bits;
    const unsigned mask = (1u << original.bits) - 1;
    memory.assign((count + per_byte - 1) / per_byte, 0);
    for (uint64_t i = 0; i < count; ++i) {
      const unsigned element = static_cast<const unsigned char*>(tensor.data)[i] & mask;
      memory[i / per_byte] = static_cast<unsigned char>(memory[i / per_byte] | element << (original.bits * (i % per_byte)));
    }
  } else {
    return;
  }
  tensor.dtype = original.dtype;
  tensor.data = memory.data();
}

}  // namespace tensortap::onnxruntime
