// Members of JSON objects that may be anything.

#ifndef TENSORTAP_BASE_JSON_MEMBERS_H_
#define TENSORTAP_BASE_JSON_MEMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace tensortap {

// Null when `object` is no object, has no such member, or has null there.
inline const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// A copy of the member, null where there is none.
inline Json member_or_null(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value == nullptr ? Json(nullptr) : *value;
}

inline Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// A text as it is, anything else as JSON; "" when there is none.
inline std::string text_in(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : to_json_text(*value);
}

// 0 when there is none, or it is no whole number from 0 on.
inline uint64_t count_in(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<uint64_t>() : 0;
}

// 0 when there is none, or it is no number.
inline double number_in(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

// A copy of the list; an empty one when there is none.
inline Json list_in(const Json& object, const char* key) {
  const Json* list = member(object, key);
  return list != nullptr && list->is_array() ? *list : Json::array();
}

// The texts of a list; none when there is no list.
inline std::vector<std::string> strings_in(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const Json* list = member(object, key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& text : *list) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_JSON_MEMBERS_H_
