#include "find/collective_types.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.h"
#include "find/record_roles.h"

namespace tensortap {

bool is_all_reduce(std::string_view type) { return plain_type(type).find("allreduce") != std::string::npos; }

bool is_between_two(std::string_view type) {
  const std::string plain = plain_type(type);
  return std::ranges::any_of(std::initializer_list<std::string_view>{"send", "recv", "receive", "recvanysource"},
                             [&](std::string_view one) { return plain == one || plain == concat("c10d.", one); });
}

bool is_collective(std::string_view type) {
  const std::string plain = plain_type(type);
  // c10d, and the functional collectives with what waits for them.
  return plain.starts_with("c10d") || is_all_reduce(type) || is_between_two(type) || plain.find("allgather") != std::string::npos ||
         plain.find("reducescatter") != std::string::npos || plain.find("alltoall") != std::string::npos || plain == "broadcast";
}

bool may_wait(std::string_view type) { return is_collective(type) || plain_type(type).find("barrier") != std::string::npos; }

}  // namespace tensortap
