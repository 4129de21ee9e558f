#include "compare/own_roundings.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compare/row_types.h"

namespace tensortap {
namespace {

constexpr double kTermsOfOne = 64;  // that a rounding of the type covers

// The numbers that are added for an element of a convolution or a product, as far as shapes tell; 1 for others.
double terms_of(const OpKind& kind, const RecordRow& output, const DumpIndex& dump, std::span<const uint32_t> inputs) {
  const Shape shape = output.desc().shape;
  if (kind.multiplies) {
    std::vector<Shape> factors;
    for (const uint32_t row : inputs) {
      if (dump.rows()[row].dims_count > 1) factors.push_back(dump.rows()[row].desc().shape);
    }
    if (factors.size() != 2 || output.numel == 0) return 1;
    double squares = 1;
    for (const Shape& factor : factors) squares *= static_cast<double>(factor.numel().value_or(0));
    const bool in_batches = shape.rank() > 2 && factors[0].rank() > 2 && factors[1].rank() > 2;
    const double products =
        in_batches ? static_cast<double>(output.numel) / static_cast<double>(shape[shape.rank() - 1] * shape[shape.rank() - 2]) : 1;
    return std::sqrt(squares / static_cast<double>(output.numel) / products);
  }
  if (!kind.convolves || shape.rank() < 3) return 1;
  double terms = 1;
  for (const uint32_t row : inputs) {
    const Shape read = dump.rows()[row].desc().shape;
    if (read.rank() == shape.rank() && read[0] == shape[1])
      terms = static_cast<double>(dump.rows()[row].numel) / static_cast<double>(shape[1]);
  }
  return terms;
}

double of_norm(const OpKind& kind, const RecordRow& output, const DumpIndex& dump, std::span<const uint32_t> inputs) {
  constexpr double kOfNorm = 2;  // a mean, a deviation and what is made of both
  constexpr double kMostOfBatch = 16;
  if (!kind.is_of_batch) return kOfNorm;
  const Shape shape = output.desc().shape;
  const int64_t channels = output.slot_index > 0 || shape.rank() < 2 ? static_cast<int64_t>(output.numel) : shape[1];
  const double terms = static_cast<double>(most_read(dump, inputs)) / static_cast<double>(std::max<int64_t>(channels, 1));
  return std::clamp(std::sqrt(terms / kTermsOfOne), kOfNorm, kMostOfBatch);
}

}  // namespace

uint64_t most_read(const DumpIndex& dump, std::span<const uint32_t> rows) {
  uint64_t read = 1;
  for (const uint32_t row : rows) read = std::max(read, dump.rows()[row].numel);
  return read;
}

double error_of_sum(const OpKind& kind, const RecordRow& output, uint64_t read) {
  // Measured for ONNX Runtime against PyTorch, in steps of float32: means and sums of 100,000 columns 42 (2 sqrt(terms / 64) = 79), sums of
  // squares, which are added one by one, 3,650 of 1,000,000 terms (2 terms / 256 = 7,812).
  constexpr double kMostOfMean = 0x1p8;
  constexpr double kOneByOne = 256;
  constexpr double kMostOneByOne = 0x1p14;
  const double step = step_of_type(output);
  if (kind.reduces == Reduction::kNone || step >= kCoarse) return 0;
  const double terms = static_cast<double>(read) / static_cast<double>(std::max<uint64_t>(output.numel, 1));
  const double walk = std::clamp(std::sqrt(terms / kTermsOfOne), 1.0, kMostOfMean);
  return step * (kind.reduces == Reduction::kMagnitudes ? std::clamp(terms / kOneByOne, walk, kMostOneByOne) : walk);
}

double own_roundings(const OpKind& kind, const RecordRow& output, const DumpIndex& dump, std::span<const uint32_t> inputs) {
  constexpr double kMostOfProduct = 8;
  if (step_of_type(output) >= kCoarse) return 1;  // their sums are made in float32
  if (kind.is_norm) return of_norm(kind, output, dump, inputs);
  return std::clamp(std::sqrt(terms_of(kind, output, dump, inputs) / kTermsOfOne), 1.0, kMostOfProduct);
}

}  // namespace tensortap
