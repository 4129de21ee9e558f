// TorchAir's dump of the graphs that torch.compile made: its options as a config, whose tree is AscendCL's, the layout "ge"; and its FX
// data dump (config.debug.data_dump), a tree that Python code writes and that is only read here.

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_

#include "system/system.h"
#include "system/torchair/config/dialect.h"
#include "system/torchair/tree/reader.h"

namespace tensortap::torchair {

inline constexpr Dialect kDialects[] = {
    {"torchair", "dump options of TorchAir's CompilerConfig", recognise_config, parse_config, keys, "", "", full_capture},
};

inline constexpr Layout kLayouts[] = {
    {"fx", "TorchAir's FX data dump: npy files in graph_N/STEP; read only", nullptr, recognise_tree, open_tree, nullptr},
};

inline constexpr System kSystem{"torchair", kDialects, kLayouts};

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_
