#include <algorithm>

#include "layout/tap/repair.h"
#include "layout/tap/tap_files.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr Layout kLayouts[] = {
    {"tap", "tensortap's own: NumPy files, one folder per process", create_tap, recognise_tap, open_tap, repair_tap},
};

}  // namespace

std::span<const Layout> layouts() { return kLayouts; }

const Layout* find_layout(std::string_view name) {
  const auto* found = std::ranges::find(kLayouts, name, &Layout::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

}  // namespace tensortap
