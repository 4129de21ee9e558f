#include "source/onnxruntime/runtime/element_types.h"

#include <gtest/gtest.h>

#include "source/onnxruntime/taps/event_sender.h"

namespace tensortap::onnxruntime {
namespace {

TEST(ElementTypes, RoundTripThroughTheRuntimesNumbers) {
  for (int32_t type = 1; type < 27; ++type) EXPECT_EQ(onnx_type_of_runtime(runtime_type_of(type, 31)), type);
  for (uint32_t dtype = 1; dtype < TENSORTAP_DTYPE_COUNT; ++dtype) {
    if (dtype == TENSORTAP_UINT1) continue;  // the one that ONNX does not have
    EXPECT_EQ(dtype_number(onnx_type_of(dtype)), dtype);
  }
  EXPECT_EQ(onnx_type_of(UINT32_MAX), 0);
}

// float_to_float8_e8m0() and pack_elements() have separate tests.
TEST(Repack, MakesTheOriginalTypeAndLeavesOthers) {
  const std::vector<int8_t> cast = {1, -1, 7};
  const int64_t size = 3;
  tensortap_tensor tensor{};
  tensor.dtype = TENSORTAP_INT8;
  tensor.data = cast.data();
  tensor.dims = &size;
  tensor.rank = 1;
  std::vector<unsigned char> memory;
  repack(onnx_type_of(TENSORTAP_FLOAT32), memory, tensor);
  EXPECT_EQ(tensor.dtype, static_cast<uint32_t>(TENSORTAP_INT8));
  EXPECT_EQ(tensor.data, cast.data());
  repack(onnx_type_of(TENSORTAP_INT4), memory, tensor);
  EXPECT_EQ(tensor.dtype, static_cast<uint32_t>(TENSORTAP_INT4));
  EXPECT_EQ(memory, (std::vector<unsigned char>{0xf1, 0x07}));
  EXPECT_EQ(tensor.data, memory.data());
}

}  // namespace
}  // namespace tensortap::onnxruntime
