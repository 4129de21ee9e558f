// JSON text to nlohmann::json without exceptions and with positions, and back strictly.

#ifndef TENSORTAP_BASE_JSON_H_
#define TENSORTAP_BASE_JSON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

inline constexpr int kMaxJsonDepth = 100;

// `name` is what messages call the text ("acl.json"). Errors: kInvalidArgument "name:line:column: what"; nesting deeper than
// kMaxJsonDepth, duplicate keys and invalid UTF-8 are errors too.
Result<Json> parse_json(std::string_view text, std::string_view name);
// The same for languages whose own reader takes the last of equal keys: keys that occur twice are put into `repeated`, not refused.
Result<Json> parse_json(std::string_view text, std::string_view name, std::vector<std::string>& repeated);

// The keys of the outermost object, equal ones each time, without the cost of its values: for telling what kind of config a text is.
// Nothing where the text is no JSON object.
std::optional<std::vector<std::string>> json_keys(std::string_view text);

// "line:column" of the value at `pointer` (such as "/common_dump_settings/iteration") in `text`, of its key when it is a member of an
// object; "1:1" when it does not exist. For messages about values that parsed but are wrong.
std::string json_position(std::string_view text, std::string_view pointer);

// Strict JSON: non-finite numbers become the strings "nan", "inf", "-inf"; invalid UTF-8 is replaced. One line.
std::string to_json_text(const Json& value, int indent = -1);
Json json_number(double value);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_JSON_H_
