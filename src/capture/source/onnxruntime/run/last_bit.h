// Inputs that are moved by the last bit of their numbers: what the rounding of a program's inputs alone changes in its values.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LAST_BIT_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LAST_BIT_H_

#include <cstdint>

#include "source/onnxruntime/runtime/ort_value.h"
#include "tensor/dtype.h"

namespace tensortap::onnxruntime {

// Moves each number by one unit in the last place, up or down at random, the same for the same seed everywhere. 0, NaN and Inf stay, and so
// does every number of a type of less than 16 bits, which one step would change by percents. No number becomes 0 or Inf. Elements of other
// types stay.
void move_by_last_bit(DType dtype, void* data, uint64_t count, uint64_t seed);

// The same for a program that first converts the numbers to the narrower type `read_as`: each moves as far as the number that it becomes
// there moves by one unit, so that the conversion does not round the step away. A number that becomes 0 or Inf there moves by its own last
// bit. `dtype` is kFloat32 or kFloat64; for every other one, and for a type that is not narrower, this is move_by_last_bit().
void move_by_last_bit(DType dtype, DType read_as, void* data, uint64_t count, uint64_t seed);

// Whether numbers of an element type of ONNX are moved at all.
bool moves_by_last_bit(int32_t element_type);

// A copy of a value that is moved so, for readers of the type `read_as` (kUndefined: the value's own): of a tensor, of each element of a
// sequence, of the values of a map. Null and empty sequences come back as they are. Errors: those of the runtime; kUnsupported for kinds of
// value that cannot be copied.
Result<OwnedValue> moved_by_last_bit(const Api& api, OwnedValue value, DType read_as, uint64_t seed);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_LAST_BIT_H_
