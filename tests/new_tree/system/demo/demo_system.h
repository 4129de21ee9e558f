// The tree "demo": a NumPy file for each record, in STEP/OP/SLOT.npy. docs/layouts/demo.md is the authority.

#ifndef TENSORTAP_SYSTEM_DEMO_DEMO_SYSTEM_H_
#define TENSORTAP_SYSTEM_DEMO_DEMO_SYSTEM_H_

#include "format/npy/npy_header.h"
#include "system/demo/tree/tree.h"
#include "system/system.h"

namespace tensortap::demo {

inline constexpr Layout kLayouts[] = {
    {.name = "demo",
     .description = "a .npy file for each record: STEP/OP/SLOT.npy",
     .create = create_tree,
     .recognise = recognise_tree,
     .open = open_tree,
     .repair = nullptr,
     .keeps = {.dtype = npy_names, .stats = 0, .histogram = false, .names = false, .threads = false}},
};

inline constexpr System kSystem{"demo", {}, kLayouts};

}  // namespace tensortap::demo

#endif  // TENSORTAP_SYSTEM_DEMO_DEMO_SYSTEM_H_
