// How precise the numbers of a record are, whatever type holds them.

#ifndef TENSORTAP_COMPARE_ROW_PRECISION_H_
#define TENSORTAP_COMPARE_ROW_PRECISION_H_

#include <cstdint>
#include <unordered_map>

#include "compare/unit_roundoff.h"
#include "compare/value_table.h"

namespace tensortap {

// The answers for the rows of one dump; data is read once. Borrows the dump. One thread.
class RowPrecision {
 public:
  explicit RowPrecision(const DumpIndex& dump) : dump_(dump) {}

  // The step of the coarsest type that holds all elements of a float32 tensor, which may be float16 or bfloat16; unit_roundoff() of the
  // type of others. Whole numbers alone say nothing: they have the step of their type.
  double step_of(uint32_t row);

 private:
  [[nodiscard]] double measured_step(uint32_t row) const;

  const DumpIndex& dump_;
  std::unordered_map<uint32_t, double> known_;
};

// Whether one of two float32 tensors of one shape is the other one rounded to float16 or to bfloat16. False where data are missing.
bool is_rounded_copy(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ROW_PRECISION_H_
