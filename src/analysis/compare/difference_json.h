// How two tensors differ, as members of a JSON object.

#ifndef TENSORTAP_COMPARE_DIFFERENCE_JSON_H_
#define TENSORTAP_COMPARE_DIFFERENCE_JSON_H_

#include <cstdint>
#include <optional>

#include "base/json_fwd.h"
#include "compare/difference.h"
#include "trace/record_row.h"

namespace tensortap {

// The coordinates of a flat index in C order in the tensor of a record: a list of numbers, null without an index.
Json coordinates_json(const RecordRow& row, std::optional<uint64_t> index);

// Adds every measure to `json`. `of_a` has the shape of the first tensor.
void add_difference(Json& json, const RecordRow& of_a, const Difference& difference);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_DIFFERENCE_JSON_H_
