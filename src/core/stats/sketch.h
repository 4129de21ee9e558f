// Makes sketches: sums by channel and counts by block, beside the statistics and in the same pass.

#ifndef TENSORTAP_STATS_SKETCH_H_
#define TENSORTAP_STATS_SKETCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {

struct SketchOptions {
  std::optional<int32_t> axis;  // of the channels; negative ones count from the last
  uint32_t block = 0;           // one of kSketchBlocks, 0 = none
  [[nodiscard]] bool asked() const { return axis.has_value() || block != 0; }
  friend bool operator==(const SketchOptions&, const SketchOptions&) = default;
};

// The state of a sketch of such a tensor: kThere, kNoAxis, kTooManyChannels or kNoNumbers; kNotAsked when no sketch is requested.
SketchState sketch_state(const TensorDesc& desc, const SketchOptions& options);

// The known facts about elements before a sketch takes them.
struct SketchPiece {
  double absmax = -1;  // at least their largest magnitude if all are finite; negative = not known, or not finite
  bool zeros = true;   // whether some may be 0
};

class SketchPart;
enum class SketchElements : uint8_t;

// Takes the elements of one tensor, piece by piece in logical order. Complex numbers count by modulus. Thread-compatible.
class SketchBuilder {
 public:
  // For a tensor that has numbers by sketch_state().
  SketchBuilder(const TensorDesc& desc, const SketchOptions& options);
  ~SketchBuilder();  // where SketchPart is known
  SketchBuilder(const SketchBuilder&) = delete;
  SketchBuilder& operator=(const SketchBuilder&) = delete;

  // Adds the next `count` packed elements. `data` may have any alignment; elements narrower than a byte begin at a byte.
  void add(const void* data, uint64_t count, const SketchPiece& piece);
  // Elements that it takes with advantage at a time.
  [[nodiscard]] uint64_t wanted_elements() const;
  // Once, when all elements are in.
  TensorSketch finish();

 private:
  void take(const void* numbers, uint64_t count, SketchPiece piece);

  const DType dtype_;
  const SketchElements elements_;         // the type of the numbers that the parts read
  std::unique_ptr<SketchPart> channels_;  // null when not requested, or when there are none
  std::unique_ptr<SketchPart> blocks_;
  std::vector<double> converted_;  // bytes of `elements_`
};

// Adds another sketch: of another step, another rank or another part. Errors: kInvalidArgument when the two differ in axis, number of
// channels or size of blocks; then `sketch` is unchanged. Both may lack channels, or blocks.
Status merge_sketch(const TensorSketch& other, TensorSketch& sketch);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_SKETCH_H_
