// What SketchBuilder (sketch.h) counts of a tensor, one class for each kind of sum.

#ifndef TENSORTAP_STATS_SKETCH_PARTS_H_
#define TENSORTAP_STATS_SKETCH_PARTS_H_

#include <cstdint>
#include <memory>

#include "stats/sketch.h"
#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {

// Takes the elements of a tensor in order, as those of kernels (sketch_kernels.h). Thread-compatible.
class SketchPart {
 public:
  SketchPart() = default;
  virtual ~SketchPart() = default;
  SketchPart(const SketchPart&) = delete;
  SketchPart& operator=(const SketchPart&) = delete;
  // `piece.absmax`: -1 where a number is not finite.
  virtual void add(const void* elements, uint64_t count, const SketchPiece& piece) = 0;
  // Elements that it takes with advantage at a time.
  [[nodiscard]] virtual uint64_t wanted_elements() const { return 1; }
  // Once.
  virtual void finish(TensorSketch& sketch) = 0;
};

// What kernels read a tensor as: halves, floats and doubles as they are, other numbers as floats where those hold them, else as doubles.
enum class SketchElements : uint8_t { kFloat32, kFloat64, kFloat16, kBFloat16 };

// `axis` from 0, of at most kMostChannels.
std::unique_ptr<SketchPart> make_channel_part(SketchElements elements, const TensorDesc& desc, int32_t axis);
// `block`: one of kSketchBlocks.
std::unique_ptr<SketchPart> make_block_part(SketchElements elements, const TensorDesc& desc, uint32_t block);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_SKETCH_PARTS_H_
