// One key of a config language. The documents of the languages and the suite over all of them are held against tables of these.

#ifndef TENSORTAP_PLAN_CONFIG_KEY_H_
#define TENSORTAP_PLAN_CONFIG_KEY_H_

#include <string_view>

namespace tensortap {

struct ConfigKey {
  std::string_view section;        // the object that holds it; "" = the config itself
  std::string_view name;           // "steps", or "limits.max_bytes" for a member of a group
  std::string_view type;           // "text", "list of texts", "true or false", ...
  std::string_view values;         // what is allowed
  std::string_view default_value;  // as JSON; "" = none, or that it has to be there
  std::string_view meaning;        // one sentence
  std::string_view since = {};     // the first release of the system that knows it, by its name in profiles; "" = every one
};

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_CONFIG_KEY_H_
