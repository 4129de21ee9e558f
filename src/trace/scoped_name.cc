#include "trace/scoped_name.h"

#include "base/text.h"

namespace tensortap {

bool is_pseudo_op(const OpInfo& op) { return op.type == kInputType || op.type == kInitializerType; }

std::string scoped_op_name(const OpInfo& op, uint32_t number) {
  if (is_pseudo_op(op)) return op.name;
  std::string name = "Default/";
  for (const std::string_view part : split(op.name, '/')) {
    if (!part.empty()) name += concat(part, "/");
  }
  return name += concat(op.type, "-op", number);
}

std::string_view scoped_name_type(std::string_view scoped_name) {
  const size_t slash = scoped_name.rfind('/');
  if (slash != std::string_view::npos) scoped_name.remove_prefix(slash + 1);
  return scoped_name.substr(0, scoped_name.rfind('-'));
}

}  // namespace tensortap
