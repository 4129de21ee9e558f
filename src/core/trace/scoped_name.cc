#include "trace/scoped_name.h"

#include "base/text.h"

namespace tensortap {
namespace {

bool is_identifier_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

bool is_pseudo_op(const OpInfo& op) { return op.type == kInputType || op.type == kInitializerType; }

std::string identifier(std::string_view text, std::string_view also) {
  std::string name;
  for (const char c : text) {
    const bool inside_character = (static_cast<unsigned char>(c) & 0xc0U) == 0x80;  // one "_" for all bytes of a character
    if (!inside_character) name += is_identifier_character(c) || also.find(c) != std::string_view::npos ? c : '_';
  }
  return name.empty() ? "_" : name;
}

std::string scoped_op_name(const OpInfo& op, uint32_t number) {
  if (is_pseudo_op(op)) return op.name;
  std::string name = "Default/";
  for (const std::string_view part : split(op.name, '/')) {
    for (const std::string_view scope : split(part, '.')) {
      if (!scope.empty()) name += concat(identifier(scope, "-"), "/");
    }
  }
  return name += concat(identifier(op.type), "-op", number);
}

std::string_view scoped_name_type(std::string_view scoped_name) {
  const size_t slash = scoped_name.rfind('/');
  if (slash != std::string_view::npos) scoped_name.remove_prefix(slash + 1);
  return scoped_name.substr(0, scoped_name.rfind('-'));
}

}  // namespace tensortap
