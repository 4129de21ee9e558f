// The runtime's own words for element types, in tables.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_TYPE_WORDS_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_TYPE_WORDS_H_

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tensor/dtype.h"

namespace tensortap::msit {

// Where they are not ours.
inline constexpr std::array<std::pair<DType, std::string_view>, 3> kTypeWords = {
    {{DType::kFloat32, "float"}, {DType::kFloat64, "double"}, {DType::kBFloat16, "bf16"}}};

inline std::string_view type_word(DType dtype) {
  const auto* found = std::ranges::find(kTypeWords, dtype, &std::pair<DType, std::string_view>::first);
  return found == kTypeWords.end() ? dtype_name(dtype) : found->second;
}

// kUndefined for a word that is none.
inline DType type_of_word(std::string_view word) {
  const auto* found = std::ranges::find(kTypeWords, word, &std::pair<DType, std::string_view>::second);
  return found == kTypeWords.end() ? dtype_from_name(word).value_or(DType::kUndefined) : found->first;
}

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_TYPE_WORDS_H_
