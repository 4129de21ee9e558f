#include <algorithm>

#include "format/dump_data_file.h"
#include "layout/ge/ge_options.h"
#include "layout/ge/ge_reader.h"
#include "layout/ge/ge_repair.h"
#include "layout/ge/ge_writer.h"
#include "layout/mindspore/mindspore_reader.h"
#include "layout/mindspore/mindspore_writer.h"
#include "layout/mindspore/npy_tensor.h"
#include "layout/mindspore/writer_options.h"
#include "layout/tap/repair.h"
#include "layout/tap/tap_files.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

// Other types are stored wider, or not at all.
bool mindspore_keeps(DType dtype) { return stored_dtype(dtype) == dtype; }

constexpr Layout kLayouts[] = {
    {"tap", "tensortap's own: NumPy files, one folder per process", create_tap, recognise_tap, open_tap, repair_tap},
    {"ge", "AscendCL's dump: DumpData files and tables in TIME/DEVICE/MODEL/ID/STEP", create_ge, recognise_ge, open_ge, repair_ge, true,
     true, kGeLayoutOptions, 0, false, Keeps{.dtype = dump_data_holds, .names = false, .threads = false}},
    {"mindspore", "MindSpore's dump: npy files and statistic.csv in rank_N/NET/GRAPH/ITERATION", create_mindspore, recognise_mindspore_tree,
     open_mindspore, nullptr, true, true, kMindsporeLayoutOptions,
     extra_files({ExtraFile::kGraphs, ExtraFile::kExecutionOrder, ExtraFile::kAttributes, ExtraFile::kConstants}), true,
     Keeps{.dtype = mindspore_keeps, .empty_tensors = false, .names = false, .threads = false}},
};

}  // namespace

std::span<const Layout> layouts() { return kLayouts; }

const Layout* find_layout(std::string_view name) {
  const auto* found = std::ranges::find(kLayouts, name, &Layout::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

}  // namespace tensortap
