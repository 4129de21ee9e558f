#include "compare/tolerance_model.h"

#include <algorithm>
#include <cmath>

namespace tensortap {
namespace {

constexpr double kQuantised = 1.0 / 256;

bool is_quantised(const OpInfo& op) {
  return op.type.starts_with("Quantize") || op.type.starts_with("DynamicQuantize") || op.type.starts_with("QLinear") ||
         op.type.starts_with("quantize_");
}

// How a value came about.
struct Way {
  double eps = 0;        // of the coarsest type
  uint32_t ops = 0;      // in depth
  bool rounded = false;  // holds real numbers, rounded
};

std::vector<Way> ways_of(const PairingKeys& keys) {
  const ValueTable& table = keys.table();
  std::vector<Way> ways(table.values().size());
  // In the order of first execution, so that inputs stand before what was made of them.
  for (ValueId id = 0; id < ways.size(); ++id) {
    Way& way = ways[id];
    const DTypeInfo& type = dtype_info(static_cast<DType>(table.first_row(id).dtype));
    const bool codes = type.bits <= 8 && (type.kind == DTypeKind::kSigned || type.kind == DTypeKind::kUnsigned);
    way.eps = is_floating(type.dtype) ? unit_roundoff(type.dtype) : is_quantised(table.op(id)) ? kQuantised : 0;
    way.rounded = way.eps > 0;
    for (const ValueId input : keys.inputs(id)) {
      if (input == kNoValue || input == id) continue;
      way.eps = std::max(way.eps, ways[input].eps);
      way.ops = std::max(way.ops, ways[input].ops);
      // Codes that are moved, or cut out, stay what they are.
      way.rounded |= codes && ways[input].rounded;
    }
    if (!table.at(id).given) ++way.ops;
  }
  return ways;
}

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return 0x1p-52;
    case DType::kFloat32:
    case DType::kComplex64:
      return 0x1p-23;
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
      return 0x1p-3;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 0x1p-2;
    case DType::kFloat4E2M1:
      return 0x1p-1;
    case DType::kFloat8E8M0:
      return 1;
    default:
      return 0;
  }
}

std::vector<double> model_tolerances(const PairingKeys& a, const PairingKeys& b, const Pairing& pairing) {
  const std::vector<Way> of_a = ways_of(a);
  const std::vector<Way> of_b = ways_of(b);
  std::vector<double> tolerances;
  for (const ValuePair& pair : pairing.pairs) {
    const bool rounded = of_a[pair.a].rounded || of_b[pair.b].rounded;
    // What is given is rounded where the two dumps hold it in different types.
    const double ops = std::max({of_a[pair.a].ops, of_b[pair.b].ops, 1U});
    tolerances.push_back(rounded ? 8 * std::max(of_a[pair.a].eps, of_b[pair.b].eps) * std::sqrt(ops) : 0);
  }
  return tolerances;
}

}  // namespace tensortap
