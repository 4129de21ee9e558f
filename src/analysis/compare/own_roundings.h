// How many roundings of its type an op may add by itself. Programs add the same numbers in other orders, and the more numbers one element
// is made of, the further their sums may lie apart.

#ifndef TENSORTAP_COMPARE_OWN_ROUNDINGS_H_
#define TENSORTAP_COMPARE_OWN_ROUNDINGS_H_

#include <cstdint>
#include <span>

#include "compare/op_kinds.h"
#include "trace/dump_index.h"
#include "trace/record_row.h"

namespace tensortap {

// A multiple of what any op may add, at least 1. `inputs` are the rows of `dump` that the value was made of.
double own_roundings(const OpKind& kind, const RecordRow& output, const DumpIndex& dump, std::span<const uint32_t> inputs);

// The rounding that an op adds which makes one element of many, relative to the result; 0 of other ops, of whole numbers, and of types
// of 16 bits. It is that of the op's own type, however coarse other types on the way are. `read`: the elements of its largest input, or
// more.
double error_of_sum(const OpKind& kind, const RecordRow& output, uint64_t read);

// The elements of the largest of these records, at least 1.
uint64_t most_read(const DumpIndex& dump, std::span<const uint32_t> rows);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_OWN_ROUNDINGS_H_
