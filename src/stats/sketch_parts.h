// What SketchBuilder (sketch.h) counts of a tensor, one class for each kind of sum.

#ifndef TENSORTAP_STATS_SKETCH_PARTS_H_
#define TENSORTAP_STATS_SKETCH_PARTS_H_

#include <cstdint>
#include <memory>

#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {

// Takes the numbers of a tensor in order: doubles where it was made for `wide` ones, else floats. Thread-compatible.
class SketchPart {
 public:
  SketchPart() = default;
  virtual ~SketchPart() = default;
  SketchPart(const SketchPart&) = delete;
  SketchPart& operator=(const SketchPart&) = delete;
  // `absmax`: at least the largest magnitude; -1 where a number is not finite.
  virtual void add(const void* values, uint64_t count, double absmax) = 0;
  // Once.
  virtual void finish(TensorSketch& sketch) = 0;
};

// `axis` from 0, of at most kMostChannels.
std::unique_ptr<SketchPart> make_channel_part(bool wide, const TensorDesc& desc, int32_t axis);
// `block`: one of kSketchBlocks.
std::unique_ptr<SketchPart> make_block_part(bool wide, const TensorDesc& desc, uint32_t block);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_SKETCH_PARTS_H_
