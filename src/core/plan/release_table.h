// Tables of what the releases of another system do, one row for each release that changed something.

#ifndef TENSORTAP_PLAN_RELEASE_TABLE_H_
#define TENSORTAP_PLAN_RELEASE_TABLE_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tensortap {

using ReleaseNumber = std::array<int, 3>;

// "2.10" or "2.3.2". False for anything else.
inline bool parse_release(std::string_view text, ReleaseNumber& release) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > release.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    uint64_t number = 0;
    if (!parse_unsigned(parts[i], number) || number > 9999) return false;
    release[i] = static_cast<int>(number);
  }
  return true;
}

// The row of this name, else the newest row that is not newer than the release `text`; rows have `name` and `since` and are sorted from the
// oldest. Null when there is none. (A row's own name first: "2.3.0" may cover a little more than that release.)
template <class Rows>
auto find_release(const Rows& rows, std::string_view text) -> decltype(&rows[0]) {
  for (const auto& row : rows) {
    if (row.name == text) return &row;
  }
  ReleaseNumber release{};
  if (!parse_release(text, release)) return nullptr;
  decltype(&rows[0]) found = nullptr;
  for (const auto& row : rows) {
    if (row.since <= release) found = &row;
  }
  return found;
}

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_RELEASE_TABLE_H_
