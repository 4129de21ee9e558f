#include <algorithm>
#include <array>

#include "base/text.h"
#include "registry/registry.h"
#include "system/ascend/ascend_system.h"
#include "system/mindspore/mindspore_system.h"
#include "system/msit/msit_system.h"
#include "system/tap/tap_system.h"
#include "system/torchair/torchair_system.h"

namespace tensortap {
namespace {

constexpr System kSystems[] = {tap::kSystem, ascend::kSystem, mindspore::kSystem, torchair::kSystem, msit::kSystem};

template <class Row>
constexpr size_t count_of(std::span<const Row> System::*rows) {
  size_t count = 0;
  for (const System& system : kSystems) count += (system.*rows).size();
  return count;
}

// The rows of all systems, one after the other.
template <class Row, size_t kCount>
constexpr std::array<Row, kCount> all_of(std::span<const Row> System::*rows) {
  std::array<Row, kCount> all{};
  auto next = all.begin();
  for (const System& system : kSystems) next = std::ranges::copy(system.*rows, next).out;
  return all;
}

constexpr auto kDialects = all_of<Dialect, count_of(&System::dialects)>(&System::dialects);
constexpr auto kLayouts = all_of<Layout, count_of(&System::layouts)>(&System::layouts);

}  // namespace

std::span<const System> systems() { return kSystems; }
std::span<const Dialect> dialects() { return kDialects; }
std::span<const Layout> layouts() { return kLayouts; }

const Dialect* find_dialect(std::string_view name) {
  const auto found = std::ranges::find(kDialects, name, &Dialect::name);
  return found == kDialects.end() ? nullptr : &*found;
}

const Layout* find_layout(std::string_view name) {
  const auto found = std::ranges::find(kLayouts, name, &Layout::name);
  return found == kLayouts.end() ? nullptr : &*found;
}

std::vector<std::string> written_layouts() {
  std::vector<std::string> names;
  for (const Layout& layout : kLayouts) {
    if (layout.create != nullptr) names.emplace_back(layout.name);
  }
  return names;
}

Result<std::string> complete_profile(std::string_view profile) {
  std::vector<std::string> known;
  for (const System& system : kSystems) {
    if (system.complete_profile == nullptr) continue;
    if (profile.starts_with(system.name)) return system.complete_profile(profile);
    known.emplace_back(system.name);
  }
  return invalid_argument(concat("there is no profile ", quote(profile), "; profiles begin with ", join(known, " or ")));
}

}  // namespace tensortap
