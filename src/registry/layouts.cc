#include <algorithm>

#include "base/text.h"
#include "layout/mindspore/mindspore_reader.h"
#include "layout/tap/repair.h"
#include "layout/tap/tap_files.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

Result<std::unique_ptr<LayoutWriter>> create_mindspore_not_yet(const DumpInfo& /*info*/, const CaptureSpec& /*spec*/) {
  return unsupported("the layout mindspore is read, and not written yet");
}

Result<RepairReport> repair_mindspore_not_yet(const std::string& folder, bool /*dry_run*/) {
  return unsupported(
      concat(folder, ": the layout mindspore is not mended: its files are whole, one by one, and what is damaged is skipped"));
}

constexpr Layout kLayouts[] = {
    {"tap", "tensortap's own: NumPy files, one folder per process", create_tap, recognise_tap, open_tap, repair_tap},
    {"mindspore", "MindSpore's dump: npy files and statistic.csv in rank_N/NET/GRAPH/ITERATION", create_mindspore_not_yet,
     recognise_mindspore_tree, open_mindspore, repair_mindspore_not_yet, true},
};

}  // namespace

std::span<const Layout> layouts() { return kLayouts; }

const Layout* find_layout(std::string_view name) {
  const auto* found = std::ranges::find(kLayouts, name, &Layout::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

}  // namespace tensortap
