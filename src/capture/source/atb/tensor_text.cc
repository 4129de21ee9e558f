#include "source/atb/tensor_text.h"

#include <tensortap/asking.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace tensortap::atb {
namespace {

constexpr size_t kLongestText = 50;  // of the real library
constexpr uint64_t kMostBytes = uint64_t{10} << 30;
constexpr int64_t kLastOrder = 252;

// Numbers of the runtime's element types.
constexpr std::array<std::pair<int64_t, uint32_t>, 18> kElementTypes = {{
    {0, TENSORTAP_FLOAT32},
    {1, TENSORTAP_FLOAT16},
    {2, TENSORTAP_INT8},
    {3, TENSORTAP_INT32},
    {4, TENSORTAP_UINT8},
    {6, TENSORTAP_INT16},
    {7, TENSORTAP_UINT16},
    {8, TENSORTAP_UINT32},
    {9, TENSORTAP_INT64},
    {10, TENSORTAP_UINT64},
    {11, TENSORTAP_FLOAT64},
    {12, TENSORTAP_BOOL},
    {16, TENSORTAP_COMPLEX64},
    {17, TENSORTAP_COMPLEX128},
    {27, TENSORTAP_BFLOAT16},
    {35, TENSORTAP_FLOAT8_E5M2},
    {36, TENSORTAP_FLOAT8_E4M3FN},
    {37, TENSORTAP_FLOAT8_E8M0},
}};

Result<std::vector<int64_t>> parse_dims(std::string_view text) {
  std::vector<int64_t> dims;
  if (text.empty()) return dims;
  for (const std::string_view part : split(text, ',')) {
    int64_t dim = 0;
    if (!parse_integer(part, dim) || dim < 0) return unsupported("dimensions that are no numbers");
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace

Result<TensorFacts> tensor_facts(const ToldTensor& tensor, uint64_t bytes) {
  const bool is_short = std::ranges::all_of(std::array{tensor.type, tensor.format, tensor.dims},
                                            [](std::string_view text) { return text.size() <= kLongestText; });
  if (!is_short) return unsupported("a description of more than 50 characters");
  int64_t type = 0;
  int64_t order = 0;
  if (!parse_integer(tensor.type, type) || !parse_integer(tensor.format, order)) return unsupported("a type or format that is no number");
  const auto* known = std::ranges::find(kElementTypes, type, &std::pair<int64_t, uint32_t>::first);
  if (known == kElementTypes.end()) return unsupported(concat("element type ", type));
  if (order < -1 || order > kLastOrder) return unsupported(concat("format ", order));
  TensorFacts facts;
  facts.type = known->second;
  facts.order = TENSORTAP_TENSOR_ORDER(static_cast<int32_t>(order));
  TENSORTAP_ASSIGN_OR_RETURN(facts.dims, parse_dims(tensor.dims));
  const std::optional<uint64_t> numel = Shape(std::span<const int64_t>(facts.dims)).numel();
  const std::optional<uint64_t> size = numel ? packed_bytes(static_cast<DType>(facts.type), *numel) : std::nullopt;
  if (bytes == 0 || bytes > kMostBytes) return unsupported("a size of 0 or more than 10 GiB");
  if (!size || *size != bytes) return unsupported("a size that is not that of the dimensions");
  return facts;
}

}  // namespace tensortap::atb
