// The tables of all dialects, formats and layouts: the only folder that knows them all. Plain constant tables, no static initialisers.

#ifndef TENSORTAP_REGISTRY_REGISTRY_H_
#define TENSORTAP_REGISTRY_REGISTRY_H_

#include <span>
#include <string_view>

#include "dialect/dialect.h"
#include "format/format.h"
#include "layout/layout.h"

namespace tensortap {

std::span<const Layout> layouts();
const Layout* find_layout(std::string_view name);  // null when there is none
std::span<const Dialect> dialects();
const Dialect* find_dialect(std::string_view name);
std::span<const Format> formats();
const Format* find_format(std::string_view name);

// The dialect whose configs look like `text`; null when none does. Empty text is the native dialect.
const Dialect* recognise_dialect(std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_REGISTRY_REGISTRY_H_
