// How large the terms are that a sum is made of: it may be nearly zero, and its error is that of its terms.

#ifndef TENSORTAP_COMPARE_SUM_TERMS_H_
#define TENSORTAP_COMPARE_SUM_TERMS_H_

#include <cstdint>
#include <vector>

#include "compare/op_kinds.h"
#include "trace/record_row.h"

namespace tensortap {

struct TensorNorm {
  double norm = 0;
  uint64_t numel = 0;
};

// The norm that the terms of an output have together, from those of what its op read; 0 for what is no sum.
double norm_of_terms(const OpKind& kind, const RecordRow& output, std::vector<TensorNorm> inputs);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SUM_TERMS_H_
