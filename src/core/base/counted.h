// A number with its noun.

#ifndef TENSORTAP_BASE_COUNTED_H_
#define TENSORTAP_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace tensortap {

// "1 op", "2 ops".
inline std::string counted(uint64_t count, std::string_view noun) { return concat(count, " ", noun, count == 1 ? "" : "s"); }

// "21,961".
inline std::string grouped(uint64_t count) {
  std::string text = to_text(count);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_COUNTED_H_
