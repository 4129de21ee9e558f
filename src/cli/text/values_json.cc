#include "cli/text/values_json.h"

#include <string>

#include "base/json.h"
#include "tensor/number_formats.h"

namespace tensortap::cli {
namespace {

Json element_json(const TensorView& view, uint64_t index) {
  const DType dtype = view.desc.dtype;
  switch (dtype_info(dtype).kind) {
    case DTypeKind::kString: {
      const StringElement& element = static_cast<const StringElement*>(view.data)[index];
      return std::string(element.data, element.size);
    }
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
    case DTypeKind::kBool: {
      int64_t value = 0;
      to_int64(dtype, view.data, index, 1, &value);
      if (dtype == DType::kBool) return value != 0;
      return dtype == DType::kUInt64 ? Json(static_cast<uint64_t>(value)) : Json(value);
    }
    case DTypeKind::kComplex: {
      double real = 0;
      double imaginary = 0;
      to_complex128(dtype, view.data, index, real, imaginary);
      return Json::array({json_number(real), json_number(imaginary)});
    }
    default: {
      double value = 0;
      to_float64(dtype, view.data, index, 1, &value);
      return json_number(value);
    }
  }
}

Json nested(const TensorView& view, int dimension, uint64_t& next) {
  if (dimension == view.desc.shape.rank()) return element_json(view, next++);
  Json list = Json::array();
  for (int64_t i = 0; i < view.desc.shape[dimension]; ++i) list.push_back(nested(view, dimension + 1, next));
  return list;
}

}  // namespace

Json values_json(const TensorView& view) {
  if (view.data == nullptr || view.desc.dtype == DType::kUndefined) return {};
  // One dimension may be zero and another enormous.
  if (view.desc.shape.numel().value_or(0) == 0) return Json::array();
  uint64_t next = 0;
  return nested(view, 0, next);
}

}  // namespace tensortap::cli
