// Which of the compared values are shown, and in which order: what `compare` and `serve` share.

#ifndef TENSORTAP_COMPARE_CHOSEN_VALUES_H_
#define TENSORTAP_COMPARE_CHOSEN_VALUES_H_

#include <cstdint>

#include "compare/dump_comparison.h"

namespace tensortap {

enum class PairsOnly : uint8_t { kAll, kDiffering, kFirst };  // kFirst: what is outside of the tolerance, of which the first is wanted
enum class PairsSort : uint8_t { kError, kOwn, kOrder };

bool is_chosen(const ComparedValue& value, PairsOnly only);

// What an op did itself: all of the error where nothing was inherited, and what is beyond that otherwise. NaN when it was not compared.
double own_error(const ComparedValue& value);

// The smallest stands first, equal ones in the order of execution. `own` is what stands for own_error() where more is known of the op.
double order_key(const ComparedValue& value, PairsSort sort, double own);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_CHOSEN_VALUES_H_
