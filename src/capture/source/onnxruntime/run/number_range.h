// Numbers of a given range, in any element type of ONNX.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NUMBER_RANGE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NUMBER_RANGE_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace tensortap::onnxruntime {

// Both ends are included. The type holds every int64 and every uint64 exactly.
struct NumberRange {
  long double low = 0;
  long double high = 1;
};

// "0..30521", "-1..0.5".
std::string to_text(const NumberRange& range);

// Whether an element type has no fractions: integers and bool.
bool is_whole(int32_t element_type);

// The largest number of a whole type; 0 for others.
long double largest_whole(int32_t element_type);

// Errors: kInvalidArgument when the type does not reach both ends, when no whole number lies between them and the type has no others, and
// for strings.
Status check_range(int32_t element_type, const NumberRange& range);

// Fills `count` elements with numbers spread evenly over the range, the same for the same seed everywhere. Types of less than a byte are
// packed. Ends are rounded to numbers of the type. Requires check_range() to be ok.
void fill_range(int32_t element_type, void* data, uint64_t count, uint64_t seed, const NumberRange& range);

// splitmix64: the number at a position, without state.
uint64_t number_at(uint64_t seed, uint64_t position);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NUMBER_RANGE_H_
