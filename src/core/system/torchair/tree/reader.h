// Reads what TorchAir's FX data dump leaves. docs/layouts/fx.md is the authority.

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TREE_READER_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TREE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::torchair {

// Functions of the layout's row. A tree may be given at any level: the folder that holds worldsizeW_global_rankR, that one, graph_N, or a
// step.
Confidence recognise_tree(const std::string& folder);
// Errors: kNotFound when the folder contains no file of a dump. problems() lists everything else that is wrong.
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TREE_READER_H_
