// How far values are from the ends of float16 and bfloat16.

#ifndef TENSORTAP_FIND_HEADROOM_H_
#define TENSORTAP_FIND_HEADROOM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "trace/dump_index.h"

namespace tensortap {

// The worst record of one slot of one op, against one type.
struct Headroom {
  size_t row = 0;
  uint64_t records = 0;           // of this slot that were looked at
  std::optional<double> absmax;   // of its finite values; nothing when only Inf is known
  std::optional<double> binades;  // how often absmax can double before the type's largest value, negative = too large; nothing for absmax 0
  bool overflows = false;         // its largest finite value becomes Inf in the type
  bool holds_inf = false;
  // Shares of the finite values other than 0, from a histogram; nothing without one.
  std::optional<double> overflow_share;   // too large for the type, to a factor of two
  std::optional<double> subnormal_share;  // below the type's smallest normal value: precision is lost
  std::optional<double> zero_share;       // of these, those that become 0
};

// For each target, every slot with records of a floating type and a known absmax or histogram, the least headroom first; slots of which
// only Inf is known come first. Targets are kFloat16 and kBFloat16. Looks at each record once.
std::vector<std::vector<Headroom>> find_headrooms(const DumpIndex& dump, std::span<const DType> targets);
// The same for one target.
std::vector<Headroom> find_headroom(const DumpIndex& dump, DType target);

// Headroom::binades of one record: -infinity where only Inf is known, nothing where find_headrooms() leaves the record out or all is 0.
std::optional<double> headroom_binades(const DumpIndex& dump, size_t row, DType target);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_HEADROOM_H_
