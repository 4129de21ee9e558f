#include "find/value_source.h"

#include <string>

#include "base/json.h"
#include "base/json_members.h"
#include "find/collective_types.h"
#include "find/nonfinite_origins.h"

namespace tensortap {
namespace {

// The kind of an origin whose chain ends at the record; "" of another one.
std::string kind_at(const Json& origin, const std::string& record) {
  const Json* chain = member(origin, "chain");
  if (chain == nullptr || !chain->is_array() || chain->empty() || text_in(chain->back(), "record") != record) return {};
  return text_in(origin, "kind");
}

std::string origin_kind_of(const Json& answer, const std::string& record) {
  for (const char* key : {"seen", "origin"}) {
    const Json* origin = member(answer, key);
    if (origin == nullptr || !origin->is_object()) continue;
    if (std::string kind = kind_at(*origin, record); !kind.empty()) return kind;
  }
  const Json* origins = member(answer, "origins");
  for (const Json& origin : origins != nullptr && origins->is_array() ? *origins : Json::array()) {
    if (std::string kind = kind_at(origin, record); !kind.empty()) return kind;
  }
  return {};
}

}  // namespace

ValueSource value_source(std::string_view type, std::string_view origin_kind) {
  if (is_collective(type)) return ValueSource::kReceived;
  return origin_kind == origin_kind_name(OriginKind::kUnknown) ? ValueSource::kUnknown : ValueSource::kOwn;
}

std::optional<FirstValue> first_value(const Json& answer) {
  const Json* first = member(answer, "first_nonfinite");
  if (first == nullptr || !first->is_object()) return std::nullopt;
  return FirstValue{count_in(*first, "step"), value_source(text_in(*first, "type"), origin_kind_of(answer, text_in(*first, "record")))};
}

}  // namespace tensortap
