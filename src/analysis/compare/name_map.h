// The map that a person gives: which name of one dump is which of the other.

#ifndef TENSORTAP_COMPARE_NAME_MAP_H_
#define TENSORTAP_COMPARE_NAME_MAP_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compare/value_table.h"

namespace tensortap {

// One line of a map. Of patterns ("re:") `a` is a regular expression of RE2 and `b` may have \1.
struct NameLine {
  std::string a;
  std::string b;
  bool pattern = false;
  size_t line = 0;
};

// Lines "A-name<TAB>B-name", or of a .yaml or .yml file "A-name: B-name", with or without quotes; empty lines and those that begin with #
// say nothing. `name` is the file's, for messages and its ending. Errors: kInvalidArgument with file and line.
Result<std::vector<NameLine>> parse_name_map(std::string_view text, std::string_view name);

// Pairs of values by such lines: a name is that of an op, with ":out1" behind it of one of its values, or what the op calls the value.
// Errors: kInvalidArgument for a name, or a pattern, that nothing is called by, with file, line and the nearest names.
Result<std::vector<std::pair<ValueId, ValueId>>> mapped_values(const std::vector<NameLine>& lines, std::string_view name,
                                                               const ValueTable& a, const ValueTable& b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_NAME_MAP_H_
