#include "compare/block_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/spans.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

struct BlockType {
  std::string_view name;
  uint64_t elements;  // that share a step
  double steps;       // from 0 to the largest of them
};
constexpr auto kTypes = std::to_array<BlockType>({{"q8_0", 32, 127},
                                                  {"q8_1", 32, 127},
                                                  {"q6_K", 16, 32},
                                                  {"q5_0", 32, 16},
                                                  {"q5_1", 32, 15.5},
                                                  {"q5_K", 32, 15.5},
                                                  {"q4_0", 32, 8},
                                                  {"q4_1", 32, 7.5},
                                                  {"q4_K", 32, 7.5},
                                                  {"iq4_nl", 32, 5},
                                                  {"iq4_xs", 32, 5},
                                                  {"q3_K", 16, 4},
                                                  {"mxfp4", 32, 3},
                                                  {"q2_K", 16, 1.5}});
constexpr double kLargest = 2.3;  // times the usual size of an element, of the largest of 32 that are spread as weights are
constexpr double kLossSlack = 1.5;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

const BlockType* known_type(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &BlockType::name);
  return found == kTypes.end() ? nullptr : found;
}

// Of numbers that are rounded to a step, evenly.
double rounding_of(double step) { return step / std::sqrt(12.0); }

}  // namespace

std::string block_type_of(const OpInfo& op) { return attribute_text(op, op.type == kInitializerType ? "ggml_type" : "weight_type"); }

double loss_of_blocks(std::string_view type) {
  if (type.empty()) return 0;
  const BlockType* known = known_type(type);
  return kLargest * rounding_of(1 / (known == nullptr ? kTypes.back().steps : known->steps));
}

double most_lost_in_blocks(const DumpIndex& dump, uint32_t number) {
  const RecordRow& row = dump.rows()[number];
  const BlockType* type = known_type(block_type_of(op_of(dump, row)));
  if (type == nullptr || !is_floating(static_cast<DType>(row.dtype)) || (row.flags & kRecordHasData) == 0) return kNoLimit;
  const Result<RecordData> data = dump.data(number);
  if (!data.ok() || !data->view.is_contiguous()) return kNoLimit;
  double lost = 0;
  double all = 0;
  std::vector<double> values(type->elements);
  for (uint64_t begin = 0; begin < row.numel; begin += type->elements) {
    const uint64_t count = std::min(type->elements, row.numel - begin);
    to_float64(data->view.desc.dtype, data->view.data, begin, count, values.data());
    double largest = 0;
    for (const double value : first_of(std::span(values), count)) {
      largest = std::max(largest, std::abs(value));
      all += value * value;
    }
    const double one = rounding_of(largest / type->steps);
    lost += one * one * static_cast<double>(count);
  }
  return all > 0 && std::isfinite(lost) ? kLossSlack * std::sqrt(lost / all) : kNoLimit;
}

double limit_of_blocks(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b) {
  const std::string of_a = block_type_of(op_of(a, a.rows()[row_a]));
  const std::string of_b = block_type_of(op_of(b, b.rows()[row_b]));
  if (of_a == of_b) return 0;
  const double lost = (of_a.empty() ? 0 : most_lost_in_blocks(a, row_a)) + (of_b.empty() ? 0 : most_lost_in_blocks(b, row_b));
  return std::isfinite(lost) ? lost : 0;
}

}  // namespace tensortap
