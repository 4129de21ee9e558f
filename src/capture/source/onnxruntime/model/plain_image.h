// Images with channels in blocks, as a capture session gets them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PLAIN_IMAGE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PLAIN_IMAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

// A copy of an image without what fills up its blocks. Its memory is used again by the next image.
class PlainImage {
 public:
  // `channels`: blocked_graph.h; `block`: channel_block.h. An image with full blocks stays where it is, and its flags name the block.
  // Another image becomes a view of the copy, in the order of its dims; without memory for the copy only its description is left. A tensor
  // whose last dimension is the block becomes an image. The dims are in this object then.
  void describe(int64_t channels, uint32_t block, tensortap_tensor& tensor);

 private:
  bool reserve(uint64_t bytes);

  std::array<int64_t, 4> dims_{};
  std::unique_ptr<std::byte[]> memory_;
  uint64_t capacity_ = 0;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PLAIN_IMAGE_H_
