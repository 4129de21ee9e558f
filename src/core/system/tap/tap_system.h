// tensortap's own config language and directory of NumPy files.

#ifndef TENSORTAP_SYSTEM_TAP_TAP_SYSTEM_H_
#define TENSORTAP_SYSTEM_TAP_TAP_SYSTEM_H_

#include "plan/spec_keys.h"
#include "system/system.h"
#include "system/tap/dialect.h"
#include "system/tap/repair.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {

inline constexpr Dialect kDialects[] = {
    {"tensortap", "tensortap's own capture config (JSON)", recognise_config, parse_config, spec_keys, "", "", full_capture},
};

inline constexpr Layout kLayouts[] = {
    {.name = "tap",
     .description = "tensortap's own: NumPy files, one folder per process",
     .create = create_dump,
     .recognise = recognise_dump,
     .open = open_dump_folder,
     .repair = repair_dump,
     .keeps = {.sketches = true},
     .takes_plan_changes = true,
     .keeps_arguments = true},
};

inline constexpr System kSystem{"tap", kDialects, kLayouts};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_TAP_SYSTEM_H_
