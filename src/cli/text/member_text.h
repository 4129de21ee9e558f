// Members of the JSON objects that the commands show.

#ifndef TENSORTAP_CLI_TEXT_MEMBER_TEXT_H_
#define TENSORTAP_CLI_TEXT_MEMBER_TEXT_H_

#include <string>

#include "base/json_members.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// For a terminal: a text without control characters, anything else as JSON; "" when there is none.
inline std::string member_text(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  return value->is_string() ? printable(value->get<std::string>()) : to_json_text(*value);
}

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_MEMBER_TEXT_H_
