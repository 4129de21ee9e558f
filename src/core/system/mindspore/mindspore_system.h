// MindSpore's older and newer dump: its config and its tree.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_MINDSPORE_SYSTEM_H_
#define TENSORTAP_SYSTEM_MINDSPORE_MINDSPORE_SYSTEM_H_

#include "system/mindspore/config/dialect.h"
#include "system/mindspore/config/settings.h"
#include "system/mindspore/tree/npy_tensor.h"
#include "system/mindspore/tree/reader.h"
#include "system/mindspore/tree/writer.h"
#include "system/mindspore/tree/writer_options.h"
#include "system/system.h"

namespace tensortap::mindspore {

// Other types are stored wider, or not at all.
inline bool keeps_dtype(DType dtype) { return stored_dtype(dtype) == dtype; }

inline constexpr Dialect kDialects[] = {
    {"mindspore", "MindSpore's dump config (MINDSPORE_DUMP_CONFIG)", recognise_config, parse_config, keys, kFileSuffix,
     "MINDSPORE_DUMP_CONFIG", full_capture},
};

inline constexpr Layout kLayouts[] = {
    {"mindspore", "MindSpore's dump: npy files and statistic.csv in rank_N/NET/GRAPH/ITERATION", create_tree, recognise_tree, open_tree,
     nullptr, true, true, kLayoutOptions,
     extra_files({ExtraFile::kGraphs, ExtraFile::kExecutionOrder, ExtraFile::kAttributes, ExtraFile::kConstants}), true,
     Keeps{.dtype = keeps_dtype,
           .empty_tensors = false,
           .stats = kStatMin | kStatMax | kStatL2,
           .digits = 6,
           .histogram = false,
           .names = false,
           .threads = false}},
};

inline constexpr System kSystem{"mindspore", kDialects, kLayouts, complete_profile};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_MINDSPORE_SYSTEM_H_
