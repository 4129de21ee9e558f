// Which of the compared values are shown, and in which order: what `compare` and `serve` share.

#ifndef TENSORTAP_COMPARE_CHOSEN_VALUES_H_
#define TENSORTAP_COMPARE_CHOSEN_VALUES_H_

#include <cstdint>

#include "compare/dump_comparison.h"

namespace tensortap {

enum class PairsOnly : uint8_t { kAll, kDiffering, kFirst };  // kFirst: values outside of the tolerance; the caller takes the first
enum class PairsSort : uint8_t { kError, kOwn, kOrder };

bool is_chosen(const ComparedValue& value, PairsOnly only);

// The error that an op itself added: all of the error where nothing was inherited, otherwise the part beyond the inherited error. NaN when
// it was not compared.
double own_error(const ComparedValue& value);

// The smallest comes first, equal ones in the order of execution. `own` replaces own_error() where more is known of the op.
double order_key(const ComparedValue& value, PairsSort sort, double own);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_CHOSEN_VALUES_H_
