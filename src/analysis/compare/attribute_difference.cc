#include "compare/attribute_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr double kLeastRounding = 1e-6;  // numbers that were written as text or float32
constexpr auto kCounted =
    std::to_array<std::string_view>({"alpha", "approximate", "beta", "beta1", "beta2", "betas", "eps", "epsilon", "exponent",
                                     "label_smoothing", "momentum", "other", "p", "train", "training", "value", "weight_decay"});

bool are_equal(const Json& a, const Json& b, double rounding) {
  if (a == b) return true;
  if (!a.is_number() || !b.is_number()) return false;
  const double reference = b.get<double>();
  return std::abs(a.get<double>() - reference) <= std::max(rounding, kLeastRounding) * std::abs(reference);
}

}  // namespace

std::vector<AttributeDifference> attribute_differences(const OpInfo& a, const OpInfo& b, double rounding) {
  std::vector<AttributeDifference> differences;
  if (a.type != b.type || a.attributes == b.attributes) return differences;
  const Result<Json> of_a = parse_json(a.attributes.empty() ? "{}" : a.attributes, "attributes");
  const Result<Json> of_b = parse_json(b.attributes.empty() ? "{}" : b.attributes, "attributes");
  if (!of_a.ok() || !of_b.ok() || !of_a->is_object() || !of_b->is_object()) return differences;
  for (const std::string_view name : kCounted) {
    const auto in_a = of_a->find(name);
    const auto in_b = of_b->find(name);
    if (in_a == of_a->end() || in_b == of_b->end() || in_a->is_null() || in_b->is_null()) continue;
    // A reference to bytes elsewhere in its dump is no value.
    if (in_a->is_object() || in_b->is_object() || are_equal(*in_a, *in_b, rounding)) continue;
    differences.push_back({std::string(name), to_json_text(*in_a), to_json_text(*in_b)});
  }
  return differences;
}

}  // namespace tensortap
