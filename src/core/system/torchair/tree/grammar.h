// What the names in a tree of TorchAir's FX data dump mean:
//
//   worldsizeW_global_rankR/graph_N/STEP/NODE-TARGET.INPUT.I.TIME.npy

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TREE_GRAMMAR_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TREE_GRAMMAR_H_

#include "tree/walk.h"

namespace tensortap::torchair {

// A tree may be given at every level. The `model` of a TreeFolder is its graph_N, "" outside of one.
extern const TreeGrammar kGrammar;

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TREE_GRAMMAR_H_
