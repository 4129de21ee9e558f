// `msit llm dump`, the dump of programs over ATB, the Ascend transformer library: its options and config, and the tree that it leaves.

#ifndef TENSORTAP_SYSTEM_MSIT_MSIT_SYSTEM_H_
#define TENSORTAP_SYSTEM_MSIT_MSIT_SYSTEM_H_

#include "format/msit_bin/msit_bin_file.h"
#include "system/msit/config/dialect.h"
#include "system/msit/tree/msit_options.h"
#include "system/msit/tree/reader.h"
#include "system/msit/tree/writer.h"
#include "system/system.h"

namespace tensortap::msit {

inline constexpr Dialect kDialects[] = {
    {"msit", "options and dynamic config of `msit llm dump`", recognise_config, parse_config, keys},
};

inline constexpr Layout kLayouts[] = {
    {.name = "msit",
     .description = "the dump of msit llm dump: .bin files in msit_dump_TIME/tensors/DEVICE_PID/ROUND/ID_OPERATION",
     .create = create_tree,
     .recognise = recognise_tree,
     .open = open_tree,
     .repair = nullptr,
     .shares_folder = true,
     .options = kLayoutOptions,
     .keeps = {.dtype = msit_bin_holds,
               .empty_tensors = false,
               .scalars = false,
               .stats = kStatMin | kStatMax | kStatMean | kStatL2,
               .digits = 6,
               .histogram = false,
               .names = false,
               .threads = false},
     .takes_plan_changes = true,
     .tells_calls_apart = true,
     .copies_inputs = true},
};

inline constexpr System kSystem{"msit", kDialects, kLayouts};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_MSIT_SYSTEM_H_
