#include "layout/document_path.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace tensortap {

bool is_document_path(std::string_view path) {
  constexpr size_t kMostParts = 32;
  constexpr size_t kLongestPart = 255;  // bytes, as Linux has it
  const std::vector<std::string_view> parts = split(path, '/');
  return parts.size() <= kMostParts && std::ranges::all_of(parts, [](std::string_view part) {
           const auto is_known = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; };
           return !part.empty() && part.front() != '.' && part.size() <= kLongestPart && std::ranges::all_of(part, is_known);
         });
}

}  // namespace tensortap
