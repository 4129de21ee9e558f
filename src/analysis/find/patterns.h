// Other things worth knowing about a dump: dead outputs, gradients that explode or vanish, ops by source line.

#ifndef TENSORTAP_FIND_PATTERNS_H_
#define TENSORTAP_FIND_PATTERNS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// An output of an op that was all zero in every record of it.
struct DeadOutput {
  size_t row = 0;  // the first record
  uint64_t records = 0;
};
// In the order of their first records. Graph inputs, weights, empty tensors and records of sampled statistics are no evidence.
std::vector<DeadOutput> find_dead_outputs(const DumpIndex& dump);

struct GradientRecord {
  size_t row = 0;
  double rms = 0;    // root of the mean square; NaN or Inf as measured
  double ratio = 0;  // to the median of the step's gradients
};
struct GradientReport {
  uint64_t records = 0;                   // gradients in the dump; 0 = there are none to judge
  std::vector<GradientRecord> exploding;  // NaN, Inf, or more than 1000 times the median of their step; the largest first
  std::vector<GradientRecord> vanishing;  // less than a millionth of the median of their step; the smallest first
};
GradientReport find_gradients(const DumpIndex& dump);

// Ops that come from a source line such as "x.py:175" (a whole location, or its end after a "/"), or from any line of "x.py".
std::vector<OpId> ops_of_source(const DumpIndex& dump, std::string_view location);
// The way back: the ops called `name`, by their own or an original node's name; their OpInfo has the location.
std::vector<OpId> ops_of_name(const DumpIndex& dump, std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_PATTERNS_H_
