// The sketch of a record as JSON, and what there is to say where a part of it is not there.

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

// Why something of `sketch`, which is that of the row, is not there; "" when all is.
std::string what_lacks_of_sketch(const DumpIndex& dump, size_t row, const Result<TensorSketch>& sketch);

// Null where no sketch was asked for; "missing" says why there is none, or why a part of it is not there.
Json sketch_json(const DumpIndex& dump, size_t row);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_SKETCH_JSON_H_
