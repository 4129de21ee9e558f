// Every environment variable that tensortap reads, in one table; getenv appears nowhere else. docs/environment.md is generated from it.

#ifndef TENSORTAP_BASE_ENVIRONMENT_H_
#define TENSORTAP_BASE_ENVIRONMENT_H_

#include <optional>
#include <string>
#include <string_view>

namespace tensortap {

// The value of a variable of the table, or nothing when it is unset or empty. Asking for a name that is not in the table is a bug
// and gives nothing.
std::optional<std::string> environment_value(std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_ENVIRONMENT_H_
