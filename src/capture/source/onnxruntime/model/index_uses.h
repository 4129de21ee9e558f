// The first uses of the elements of a model's inputs: which inputs hold numbers of rows, so that a made number is a row that exists, and
// which are converted to a narrower floating type.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_INDEX_USES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_INDEX_USES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "source/onnxruntime/model/onnx_model.h"
#include "tensor/dtype.h"

namespace tensortap::onnxruntime {

struct IndexUse {
  int64_t height = 0;  // at least 1; the numbers are 0 .. height - 1
  std::string reader;  // "Gather \"embedding\"": the op with the lowest table
};

using IndexUses = std::map<std::string, IndexUse, std::less<>>;

// By the input's name. An input is listed when its elements reach the indices of a Gather or a similar operator, in the main graph or a
// nested one, through operators that only convert and move them, and when the height of the table is known.
IndexUses find_index_uses(const Model& model);

// By the input's name: the narrowest floating type of 16 bits or more that the model converts its elements to, through operators that only
// move them. Narrower types and codes (QuantizeLinear) do not count: one step of these changes a value by percents, more than rounding
// does.
using NarrowReads = std::map<std::string, DType, std::less<>>;
NarrowReads find_narrow_reads(const Model& model);
NarrowReads merged(NarrowReads reads, const NarrowReads& others);

// Both, with the lower height where both know one.
IndexUses merged(IndexUses uses, const IndexUses& others);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_INDEX_USES_H_
