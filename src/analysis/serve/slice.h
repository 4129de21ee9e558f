// Two dimensions of a tensor as numbers for a picture.

#ifndef TENSORTAP_SERVE_SLICE_H_
#define TENSORTAP_SERVE_SLICE_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/elements.h"
#include "serve/web_request.h"

namespace tensortap {

inline constexpr int64_t kMostCells = 512;  // of a picture, across and down

// What `at`, `rows`, `cols` and `reduce` of the request choose (docs/web_api.md), at most kMostCells each way. Larger parts are reduced by
// cells of several elements; a NaN or Inf in a cell shows. Errors: kInvalidArgument with what is wrong.
Result<Answer> slice_answer(const Elements& elements, const WebRequest& request);

// The same part with every digit, in Elements::exact_type(): the header contains its name in NumPy. Errors: kInvalidArgument with what is
// wrong, also for more than kMostCells each way.
Result<Answer> exact_answer(const Elements& elements, const WebRequest& request);

// {"index", "flat", "value"} of what `what` and `after` of the request ask for. Errors: kInvalidArgument; kNotFound when there is none.
Result<Answer> find_answer(const Elements& elements, const WebRequest& request);

// {"places"}: of each dimension the indices at which a NaN or Inf lies, at most 2,000.
Result<Answer> places_answer(const Elements& elements);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SLICE_H_
