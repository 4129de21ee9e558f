#include "source/onnxruntime/packed_elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

template <class T>
tensortap_tensor tensor_of(const std::vector<T>& values, const int64_t& size, uint32_t dtype) {
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype;
  tensor.data = values.data();
  tensor.dims = &size;
  tensor.rank = 1;
  return tensor;
}

TEST(PackedElements, TwoBitIntegersGoFourToAByteLowBitsFirst) {
  const std::vector<int8_t> cast = {1, -1, -2, 0, 1};
  const int64_t size = 5;
  tensortap_tensor tensor = tensor_of(cast, size, TENSORTAP_INT8);
  std::vector<unsigned char> memory;
  repack(onnx_type_of(TENSORTAP_INT2), memory, tensor);
  EXPECT_EQ(tensor.dtype, static_cast<uint32_t>(TENSORTAP_INT2));
  EXPECT_EQ(memory, (std::vector<unsigned char>{0b00101101, 0b00000001}));
}

TEST(PackedElements, EveryScaleOfE8m0ComesBack) {
  std::vector<float> cast;
  for (int e = 0; e < 255; ++e) cast.push_back(std::ldexp(1.0f, e - 127));
  cast.push_back(std::numeric_limits<float>::quiet_NaN());
  const int64_t size = 256;
  tensortap_tensor tensor = tensor_of(cast, size, TENSORTAP_FLOAT32);
  std::vector<unsigned char> memory;
  repack(onnx_type_of(TENSORTAP_FLOAT8_E8M0), memory, tensor);
  ASSERT_EQ(memory.size(), 256u);
  for (int e = 0; e < 256; ++e) EXPECT_EQ(memory[static_cast<size_t>(e)], e);
}

TEST(ElementTypes, RoundTripThroughTheRuntimesNumbers) {
  for (int32_t type = 1; type < 27; ++type) EXPECT_EQ(onnx_type_of_runtime(runtime_type_of(type, 31)), type);
  for (uint32_t dtype = 1; dtype < TENSORTAP_DTYPE_COUNT; ++dtype) {
    if (dtype == TENSORTAP_UINT1) continue;  // the one that ONNX does not have
    EXPECT_EQ(element_type(onnx_type_of(dtype)).dtype, dtype);
  }
}

}  // namespace
}  // namespace tensortap::onnxruntime
