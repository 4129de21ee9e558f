#include "source/pytorch/device/kernel_results.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <cmath>

namespace tensortap::pytorch {
namespace {

using device_kernel::Limits;
using device_kernel::Part;
using device_kernel::Work;

constexpr uint64_t kPartElements = 16384;
// Enough for the largest devices; the host adds the parts up.
constexpr uint64_t kMostParts = 1024;
constexpr uint64_t kMostPartElements = uint64_t{1} << 31;

uint64_t elements_of_part(uint64_t elements) {
  const uint64_t parts = std::clamp<uint64_t>(elements / kPartElements, 1, kMostParts);
  const uint64_t each = (elements + parts - 1) / parts;
  return (each + 15) / 16 * 16;
}

// Adds a dim to the last one if both are one row of elements. False if there is no room for it.
bool add_dim(Work& work, int64_t dim, int64_t stride) {
  if (dim == 1) return true;
  if (work.rank > 0) {
    device_kernel::Signed& last_dim = work.dims[work.rank - 1];
    device_kernel::Signed& last_stride = work.strides[work.rank - 1];
    if (last_stride == dim * stride) {
      last_dim *= dim;
      last_stride = stride;
      return true;
    }
  }
  if (work.rank == device_kernel::kMostRank) return false;
  work.dims[work.rank] = dim;
  work.strides[work.rank] = stride;
  ++work.rank;
  return true;
}

double unscaled_square(double sum, double scale) { return sum / scale / scale; }

// The scales are those of floats; sums of integers have one range alone.
void add_sums(const Part& part, double finite, tensortap_measured& measured) {
  using L = Limits<float>;
  const double sum = part.sums[0] + part.sums[1] / static_cast<double>(L::kHugeScale);
  measured.sum = sum + part.pivot * finite;
  measured.magnitudes = part.magnitudes[0] + part.magnitudes[1] / static_cast<double>(L::kHugeScale);
  const double squares = part.squares[0] + unscaled_square(part.squares[1], static_cast<double>(L::kSmallScale)) +
                         unscaled_square(part.squares[2], static_cast<double>(L::kLargeScale));
  // From the distances to the pivot to those from the mean.
  measured.deviations = std::max(0.0, squares - sum * (sum / finite));
}

}  // namespace

const char* kernel_type_of(uint32_t dtype) {
  switch (dtype) {
    case TENSORTAP_FLOAT32:
      return "Float32";
    case TENSORTAP_FLOAT16:
      return "Float16";
    case TENSORTAP_BFLOAT16:
      return "Bfloat16";
    case TENSORTAP_FLOAT8_E4M3FN:
      return "Float8E4M3Fn";
    case TENSORTAP_FLOAT8_E4M3FNUZ:
      return "Float8E4M3Fnuz";
    case TENSORTAP_FLOAT8_E5M2:
      return "Float8E5M2";
    case TENSORTAP_FLOAT8_E5M2FNUZ:
      return "Float8E5M2Fnuz";
    case TENSORTAP_BOOL:
    case TENSORTAP_UINT8:
      return "Uint8";
    case TENSORTAP_INT8:
      return "Int8";
    case TENSORTAP_UINT16:
      return "Uint16";
    case TENSORTAP_INT16:
      return "Int16";
    case TENSORTAP_UINT32:
      return "Uint32";
    case TENSORTAP_INT32:
      return "Int32";
    case TENSORTAP_UINT64:
      return "Uint64";
    case TENSORTAP_INT64:
      return "Int64";
    default:
      return nullptr;
  }
}

uint64_t kernel_part_count(uint64_t elements) {
  const uint64_t each = elements_of_part(elements);
  return (elements + each - 1) / each;
}

std::optional<Work> kernel_work(const tensortap_torch_tensor& tensor, uint32_t wanted) {
  if (tensor.data == nullptr || (tensor.rank > 0 && tensor.dims == nullptr)) return std::nullopt;
  Work work{};
  work.data = tensor.data;
  work.count = 1;
  work.wanted = (wanted & TENSORTAP_MEASURE_MAGNITUDES) != 0 ? device_kernel::kMagnitudes : 0;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] <= 0) return std::nullopt;
    work.count *= static_cast<uint64_t>(tensor.dims[i]);
    if (tensor.strides != nullptr && !add_dim(work, tensor.dims[i], tensor.strides[i])) return std::nullopt;
  }
  if (work.rank == 1 && work.strides[0] == 1) work.rank = 0;
  work.part_elements = elements_of_part(work.count);
  if (work.part_elements > kMostPartElements) return std::nullopt;
  return work;
}

void clear_parts(Part* parts, uint64_t count) { std::fill_n(parts, count, Part{}); }

bool read_part(const Part& part, tensortap_measured& measured) {
  if (part.mark != device_kernel::kMark) return false;
  measured = {};
  measured.elements = static_cast<int64_t>(part.elements);
  measured.nan = static_cast<int64_t>(part.nan);
  measured.pos_inf = static_cast<int64_t>(part.pos_inf);
  measured.neg_inf = static_cast<int64_t>(part.neg_inf);
  measured.zero = static_cast<int64_t>(part.zero);
  measured.neg_zero = static_cast<int64_t>(part.neg_zero);
  measured.negative = static_cast<int64_t>(part.negative);
  measured.subnormal = static_cast<int64_t>(part.subnormal);
  measured.first_nonfinite = part.first_nonfinite;
  measured.min_integer = part.min_integer;
  measured.max_integer = part.max_integer;
  measured.min = part.min;
  measured.max = part.max;
  const auto finite = static_cast<double>(part.elements - part.nan - part.pos_inf - part.neg_inf);
  if (finite > 0) add_sums(part, finite, measured);
  return true;
}

}  // namespace tensortap::pytorch
