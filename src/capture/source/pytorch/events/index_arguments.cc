#include "source/pytorch/events/index_arguments.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tensortap::pytorch {
namespace {

constexpr int64_t kIgnored = -100;  // of the losses: the class of what does not count

enum class Dimension : uint8_t {
  kFirst,       // of the table
  kSecond,      // the classes of a loss
  kOfElement,   // element n of the list of indices is for dimension n; negative ones count from the end
  kByArgument,  // another argument chooses it
};

struct IndexRule {
  std::string_view op;
  uint32_t indices;  // slot
  Dimension dimension;
};

constexpr std::array<IndexRule, 14> kRules = {{
    {"embedding", 1, Dimension::kFirst},
    {"_embedding_bag", 1, Dimension::kFirst},
    {"_embedding_bag_forward_only", 1, Dimension::kFirst},
    {"nll_loss_forward", 1, Dimension::kSecond},
    {"nll_loss2d_forward", 1, Dimension::kSecond},
    {"index", 1, Dimension::kOfElement},
    {"index_put_", 1, Dimension::kOfElement},
    {"_index_put_impl_", 1, Dimension::kOfElement},
    {"gather", 2, Dimension::kByArgument},
    {"index_select", 2, Dimension::kByArgument},
    {"index_add_", 2, Dimension::kByArgument},
    {"index_copy_", 2, Dimension::kByArgument},
    {"scatter_", 2, Dimension::kByArgument},
    {"scatter_add_", 2, Dimension::kByArgument},
}};

struct Range {
  int64_t first;
  int64_t last;
};

bool holds_indices(const tensortap_torch_tensor& tensor) {
  const bool readable = tensor.kind == TENSORTAP_TORCH_STRIDED && tensor.data != nullptr && (tensor.dims != nullptr || tensor.rank == 0);
  return readable && (tensor.dtype == TENSORTAP_INT64 || tensor.dtype == TENSORTAP_INT32);
}

int64_t index_at(const tensortap_torch_tensor& tensor, int64_t offset) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data);
  if (tensor.dtype == TENSORTAP_INT32) {
    int32_t value = 0;
    std::memcpy(&value, bytes + offset * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  }
  int64_t value = 0;
  std::memcpy(&value, bytes + offset * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

// Calls visit(index, place) for each until it returns false.
template <class Visit>
void for_each_index(const tensortap_torch_tensor& tensor, Visit&& visit) {
  std::vector<int64_t> place(tensor.rank, 0);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] == 0) return;
  }
  while (true) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < tensor.rank; ++i) offset += place[i] * tensor.strides[i];
    if (!visit(index_at(tensor, offset), place)) return;
    size_t i = tensor.rank;
    while (i > 0 && ++place[i - 1] == tensor.dims[i - 1]) place[--i] = 0;
    if (i == 0) return;
  }
}

std::string place_text(const std::vector<int64_t>& place) {
  std::string text = "[";
  for (const int64_t one : place) text += concat(text.size() > 1 ? ", " : "", one);
  return text + "]";
}

std::string slot_text(const TorchOperator& op, const tensortap_torch_tensor& tensor) {
  std::string text = concat("in", tensor.slot);
  if (tensor.element >= 0) text += concat("[", tensor.element, "]");
  const bool named = tensor.slot < op.arguments.size() && !op.arguments[tensor.slot].empty();
  return named ? concat(text, " (", op.arguments[tensor.slot], ")") : text;
}

std::string first_outside(const TorchOperator& op, const tensortap_torch_tensor& indices, Range range, uint32_t dimension, bool is_loss) {
  std::string text;
  for_each_index(indices, [&](int64_t index, const std::vector<int64_t>& place) {
    if ((index >= range.first && index <= range.last) || (is_loss && index == kIgnored)) return true;
    text = concat("index ", index, " at ", place_text(place), " of ", slot_text(op, indices), " is outside ", range.first, "..", range.last,
                  ", the range of dimension ", dimension, " of in0");
    return false;
  });
  return text;
}

std::string range_of_all(const TorchOperator& op, const tensortap_torch_tensor& indices, const tensortap_torch_tensor& table) {
  std::optional<Range> range;
  for_each_index(indices, [&](int64_t index, const std::vector<int64_t>& /*place*/) {
    range = range ? Range{std::min(range->first, index), std::max(range->last, index)} : Range{index, index};
    return true;
  });
  const std::vector<int64_t> shape(table.dims, table.dims + table.rank);
  if (!range || shape.empty()) return {};
  const bool inside = range->first >= 0 && range->last < *std::ranges::min_element(shape);
  if (inside) return {};
  return concat("the indices of ", slot_text(op, indices), " are from ", range->first, " to ", range->last, ", in0 has the shape ",
                place_text(shape));
}

}  // namespace

std::string index_out_of_range(const TorchOperator& op, std::span<const tensortap_torch_tensor> arguments) {
  const auto* const rule = std::ranges::find(kRules, op.type, &IndexRule::op);
  const auto table = std::ranges::find(arguments, 0U, &tensortap_torch_tensor::slot);
  if (rule == kRules.end() || table == arguments.end() || table->dims == nullptr) return {};
  for (const tensortap_torch_tensor& indices : arguments) {
    if (indices.slot != rule->indices || !holds_indices(indices)) continue;
    std::string text;
    if (rule->dimension == Dimension::kByArgument) {
      text = range_of_all(op, indices, *table);
    } else {
      const bool of_element = rule->dimension == Dimension::kOfElement;
      const uint32_t dimension = of_element                              ? static_cast<uint32_t>(std::max(indices.element, 0))
                                 : rule->dimension == Dimension::kSecond ? 1
                                                                         : 0;
      // A loss of one sample has no dimension for samples.
      const uint32_t there = rule->dimension == Dimension::kSecond && table->rank == 1 ? 0 : dimension;
      if (there >= table->rank) continue;
      const int64_t extent = table->dims[there];
      text = first_outside(op, indices, {of_element ? -extent : 0, extent - 1}, there, rule->dimension == Dimension::kSecond);
    }
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace tensortap::pytorch
