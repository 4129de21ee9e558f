#include <algorithm>

#include "base/text.h"
#include "dialect/tensortap/dialect.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr Dialect kDialects[] = {
    {"tensortap", "tensortap's own capture config (JSON)", recognise_tensortap, parse_tensortap},
};

}  // namespace

std::span<const Dialect> dialects() { return kDialects; }

const Dialect* find_dialect(std::string_view name) {
  const auto table = dialects();
  const auto found = std::ranges::find(table, name, &Dialect::name);
  return found == table.end() ? nullptr : &*found;
}

const Dialect* recognise_dialect(std::string_view text) {
  if (trim(text).empty()) return find_dialect("tensortap");
  const auto table = dialects();
  const auto found = std::ranges::find_if(table, [text](const Dialect& dialect) { return dialect.recognise(text); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tensortap
