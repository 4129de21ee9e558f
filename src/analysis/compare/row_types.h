// What kind of numbers a record holds.

#ifndef TENSORTAP_COMPARE_ROW_TYPES_H_
#define TENSORTAP_COMPARE_ROW_TYPES_H_

#include "compare/unit_roundoff.h"
#include "tensor/dtype.h"
#include "trace/record_row.h"

namespace tensortap {

// Real or complex numbers.
inline bool is_real(const RecordRow& row) {
  const DTypeKind kind = dtype_info(static_cast<DType>(row.dtype)).kind;
  return kind == DTypeKind::kFloat || kind == DTypeKind::kComplex;
}

// The step of types of 16 bits and fewer is at least this.
inline constexpr double kCoarse = 0x1p-10;

inline double step_of_type(const RecordRow& row) { return unit_roundoff(static_cast<DType>(row.dtype)); }

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ROW_TYPES_H_
