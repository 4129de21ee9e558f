#include "system/tap/dialect.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_keys.h"

namespace tensortap::tap {
namespace {

bool is_our_key(const std::string& key) {
  return std::ranges::any_of(spec_keys(), [&](const ConfigKey& row) { return row.name.substr(0, row.name.find('.')) == key; });
}

}  // namespace

bool recognise_config(std::string_view text) {
  if (trim(text).empty()) return true;
  const auto keys = json_keys(text);
  if (!keys) return false;
  return std::ranges::find(*keys, "tensortap") != keys->end() || std::ranges::all_of(*keys, is_our_key);
}

Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options) {
  if (!options.profile.empty()) {
    return invalid_argument(concat("the profile ", quote(options.profile), " belongs to no tensortap config; leave the profile out"));
  }
  return spec_from_json(text, name);
}

std::string full_capture(std::span<const std::string> ops, std::string_view /*folder*/) {
  return to_json_text(Json{{"tensortap", 1}, {"include", Json(ops)}, {"slots", {"in", "out"}}, {"payload", "full"}});
}

}  // namespace tensortap::tap
