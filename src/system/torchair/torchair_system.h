// TorchAir's dump of the graphs that torch.compile made: its options as a config. Its tree is AscendCL's, the layout "ge".

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_

#include "system/system.h"
#include "system/torchair/config/dialect.h"

namespace tensortap::torchair {

inline constexpr Dialect kDialects[] = {
    {"torchair", "dump options of TorchAir's CompilerConfig", recognise_config, parse_config, keys, "", "", full_capture},
};

inline constexpr System kSystem{"torchair", kDialects, {}};

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TORCHAIR_SYSTEM_H_
