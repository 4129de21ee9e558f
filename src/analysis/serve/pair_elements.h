// How far the elements of two tensors are apart, in units in the last place.

#ifndef TENSORTAP_SERVE_PAIR_ELEMENTS_H_
#define TENSORTAP_SERVE_PAIR_ELEMENTS_H_

#include <memory>

#include "base/status.h"
#include "serve/elements.h"
#include "trace/dump_index.h"

namespace tensortap {

// The difference of each element in steps of the narrower of two floating types; |A - B| for other types. NaN where the two are not finite
// in different ways, 0 where they are not finite in the same way. Errors: kNotFound when the shapes differ, or the values are no numbers.
Result<std::unique_ptr<Elements>> ulp_elements(RecordData a, RecordData b);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PAIR_ELEMENTS_H_
