#include "compare/quantised_programs.h"

#include <algorithm>
#include <cmath>

#include "compare/block_types.h"
#include "compare/op_kinds.h"

namespace tensortap {
namespace {

constexpr uint64_t kLeastCodes = 64;  // elements
constexpr double kStepOf8Bits = 0.025;
constexpr double kRoundingOf8Bits = 0.007;  // of numbers that are spread as weights are

}  // namespace

double step_of_codes(int bits) { return std::max(kStepOf8Bits, std::ldexp(kRoundingOf8Bits, 8 - bits)); }

int bits_of_codes(const ValueTable& table, ValueId id) {
  const RecordRow& row = table.first_row(id);
  const DTypeInfo& type = dtype_info(static_cast<DType>(row.dtype));
  const bool is_signed = type.kind == DTypeKind::kSigned;
  if ((!is_signed && type.kind != DTypeKind::kUnsigned) || type.bits > 8 || row.dims_count < 2 || row.numel < kLeastCodes) return 0;
  if (type.bits < 8) return type.bits;
  // Bytes hold two codes of 4 bits each, unless they are pixels.
  if (!is_signed) return row.dims_count == 2 && table.at(id).given ? 4 : 0;
  constexpr uint32_t kRange = kStatMin | kStatMax;
  return (row.stats.valid & kRange) == kRange && row.stats.min >= -8 && row.stats.max <= 7 ? 4 : 8;
}

bool is_quantised(const PairingKeys& keys) {
  const ValueTable& table = keys.table();
  for (ValueId id = 0; id < table.values().size(); ++id) {
    if (!block_type_of(table.op(id)).empty() || bits_of_codes(table, id) > 0 ||
        (!table.at(id).given && op_kind_of(table.op(id)).code_bits > 0))
      return true;
  }
  return false;
}

}  // namespace tensortap
