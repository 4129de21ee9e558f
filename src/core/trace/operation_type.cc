#include "trace/operation_type.h"

#include <string_view>

#include "base/text.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr std::string_view kOperation = "Operation";
constexpr size_t kLongest = 200;

// "add_" is "Add", "native_layer_norm" is "NativeLayerNorm", "LayerNorm" stays.
std::string camel_case(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_other = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_lower || is_other) result += is_lower && begins ? static_cast<char>(c - 'a' + 'A') : c;
    begins = !is_lower && !is_other;
  }
  return result;
}

}  // namespace

std::string operation_type(const OpInfo& op) {
  const bool is_operator = op.level == Level::kOp || op.level == Level::kApi;
  const bool named = !is_operator || op.type.ends_with(kOperation);
  const std::string camel = named ? "" : camel_case(op.type);
  return camel.empty() ? identifier(std::string_view(op.type).substr(0, kLongest)) : concat(camel.substr(0, kLongest), kOperation);
}

}  // namespace tensortap
