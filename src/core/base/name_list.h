// A few of many names, for people.

#ifndef TENSORTAP_BASE_NAME_LIST_H_
#define TENSORTAP_BASE_NAME_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap {

// "a, b, and 3 more": the first `most` of the names, and how many others there are.
inline std::string name_list(std::vector<std::string> names, size_t most) {
  if (names.size() > most) {
    std::string others = concat("and ", names.size() - most, " more");
    names.resize(most);
    names.push_back(std::move(others));
  }
  return join(names, ", ");
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_NAME_LIST_H_
