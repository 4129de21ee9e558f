// AscendCL's dump: its config, acl.json, and its tree, the layout "ge".

#ifndef TENSORTAP_SYSTEM_ASCEND_ASCEND_SYSTEM_H_
#define TENSORTAP_SYSTEM_ASCEND_ASCEND_SYSTEM_H_

#include "format/dump_data/dump_data_file.h"
#include "system/ascend/config/acl_settings.h"
#include "system/ascend/config/dialect.h"
#include "system/ascend/tree/options.h"
#include "system/ascend/tree/reader.h"
#include "system/ascend/tree/repair.h"
#include "system/ascend/tree/writer.h"
#include "system/system.h"

namespace tensortap::ascend {

inline constexpr Dialect kDialects[] = {
    {"acl", "AscendCL's dump config (acl.json)", recognise_config, parse_config, keys, "", "", full_capture},
};

inline constexpr Layout kLayouts[] = {
    {"ge", "AscendCL's dump: DumpData files and tables in TIME/DEVICE/MODEL/ID/STEP", create_tree, recognise_tree, open_tree, repair_tree,
     true, true, kLayoutOptions, 0, false,
     Keeps{.dtype = dump_data_holds,
           .stats = kStatMin | kStatMax | kStatMean | kStatNonFinite,
           .digits = 6,
           .histogram = false,
           .names = false,
           .threads = false}},
};

inline constexpr System kSystem{"ascend", kDialects, kLayouts};

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_ASCEND_SYSTEM_H_
