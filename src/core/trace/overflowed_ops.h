// What a dump itself lists of ops that overflowed: a member of its manifest, by names, so that it is true of every copy of the dump.

#ifndef TENSORTAP_TRACE_OVERFLOWED_OPS_H_
#define TENSORTAP_TRACE_OVERFLOWED_OPS_H_

#include <compare>
#include <cstdint>
#include <set>
#include <string>

namespace tensortap {

// One execution of an op.
struct OverflowedOp {
  std::string op;
  int64_t step = 0;
  uint32_t call = 0;
  int32_t rank = 0;
  friend auto operator<=>(const OverflowedOp&, const OverflowedOp&) = default;
};

// The manifest with the list; as it is where the list is empty, or the manifest is no JSON object.
std::string with_overflowed_ops(std::string manifest, const std::set<OverflowedOp>& ops);

// The list of a manifest. Empty where there is none; entries of another form are left out.
std::set<OverflowedOp> overflowed_ops(const std::string& manifest);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_OVERFLOWED_OPS_H_
