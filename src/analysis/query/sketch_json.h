// The sketch of a record as JSON, with the reason why a part of it is missing.

#ifndef TENSORTAP_QUERY_SKETCH_JSON_H_
#define TENSORTAP_QUERY_SKETCH_JSON_H_

#include <cstddef>
#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "tensor/tensor_sketch.h"
#include "trace/dump_index.h"

namespace tensortap {

SketchState sketch_state_of(const DumpIndex& dump, size_t row);

// Why a part of `sketch`, the sketch of the row, is missing; "" when it is complete.
std::string what_lacks_of_sketch(const DumpIndex& dump, size_t row, const Result<TensorSketch>& sketch);

// Null if no sketch was asked for. "missing" contains the reason why the sketch, or a part of it, does not exist.
Json sketch_json(const DumpIndex& dump, size_t row);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_SKETCH_JSON_H_
