// The FX data dump of TorchAir (config.debug.data_dump): a tree that Python code writes and that is only read here.

#ifndef TENSORTAP_SYSTEM_FX_FX_SYSTEM_H_
#define TENSORTAP_SYSTEM_FX_FX_SYSTEM_H_

#include "system/fx/reader.h"
#include "system/system.h"

namespace tensortap::fx {

inline constexpr Layout kLayouts[] = {
    {"fx", "TorchAir's FX data dump: npy files in graph_N/STEP; read only", nullptr, recognise_tree, open_tree, nullptr},
};

inline constexpr System kSystem{"fx", {}, kLayouts};

}  // namespace tensortap::fx

#endif  // TENSORTAP_SYSTEM_FX_FX_SYSTEM_H_
