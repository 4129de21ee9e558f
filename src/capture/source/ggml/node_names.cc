#include "source/ggml/node_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

// The digits at the beginning of a text.
std::string_view number_at(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return text.substr(0, end);
}

}  // namespace

std::string_view without_copy(std::string_view name) {
  const size_t first = name.find('#');
  const size_t last = name.rfind('#');
  if (first == std::string_view::npos || first == 0 || last == first || !is_digits(name.substr(last + 1))) return name;
  return name.substr(first + 1, last - first - 1);
}

bool is_numbered(std::string_view name) {
  if (name.empty()) return true;
  for (const std::string_view begin : {"node_", "leaf_"}) {
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = name.substr(begin.size());
    const std::string_view number = number_at(rest);
    if (!number.empty() && (number.size() == rest.size() || rest[number.size()] == ' ')) return true;
  }
  return name.front() == ' ' || name.front() == '(';  // " (view)" of a tensor without a name
}

bool is_mask(std::string_view name) { return contains_ignoring_case(name, "mask"); }

bool is_view_op(std::string_view op) {
  constexpr std::array<std::string_view, 5> kViews = {"NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"};
  return std::ranges::find(kViews, op) != kViews.end();
}

std::string_view module_of_weight(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::string layer_of_module(std::string_view module) {
  constexpr std::string_view kLayer = "blk.";
  if (!module.starts_with(kLayer)) return {};
  const std::string_view number = number_at(module.substr(kLayer.size()));
  return number.empty() ? std::string() : concat(kLayer, number);
}

std::string module_of_node(std::string_view name) {
  for (const std::string_view mark : {"-", "_l"}) {
    const size_t at = name.rfind(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(at + mark.size());
    const std::string_view number = number_at(rest);
    const bool ends = number.size() == rest.size() || rest[number.size()] == ' ' || rest[number.size()] == '#';
    if (!number.empty() && ends) return concat("blk.", number);
  }
  return {};
}

bool is_weight_name(std::string_view name) { return name.ends_with(".weight") || name.ends_with(".bias"); }

}  // namespace tensortap::ggml
