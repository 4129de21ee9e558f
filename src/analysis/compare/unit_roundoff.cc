#include "compare/unit_roundoff.h"

#include <cmath>

namespace tensortap {

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

}  // namespace tensortap
