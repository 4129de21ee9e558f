// /api/record/N/slice, /exact, /histogram and /find.

#ifndef TENSORTAP_SERVE_VALUE_ANSWERS_H_
#define TENSORTAP_SERVE_VALUE_ANSWERS_H_

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "serve/answer.h"
#include "serve/served_dump.h"
#include "serve/web_request.h"

namespace tensortap {

// The values of a record, or its exponents if the dump has only those. `row` is a valid row; `part` is the last part of the path. Errors:
// kInvalidArgument; kNotFound for a record without values.
Result<Answer> values_answer(const ServedDump& dump, size_t row, std::string_view part, const WebRequest& request);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_VALUE_ANSWERS_H_
