// The meaning of the names in a tree of MindSpore's dump.
//
//   rank_R/NET/GRAPH/ITERATION/              rank_R/NET/GRAPH/constants/            the synchronous tree
//   [STEP/]TIME/DEVICE/NET/GRAPH/ITERATION/  [STEP/]TIME/DEVICE/[ITERATION/]        the asynchronous ones, TIME of 14 digits

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAMMAR_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAMMAR_H_

#include "tree/walk.h"

namespace tensortap::mindspore {

// A place may be at any level; a folder that only the names of its files reveal is not certain. The `dump` of a TreeFolder is the path of
// its folder rank_R, which contains the graphs, "" outside of one; its companions are the files "OP.SCOPE.json".
extern const TreeGrammar kGrammar;

// Whether the folder holds constants.
bool is_constants(const TreeFolder& folder);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAMMAR_H_
