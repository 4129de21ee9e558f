// The files of a tree of AscendCL's dump, found by their names.
//
//   TIME/DEVICE[/MODEL][/MODEL_ID][/STEP]   TIME of 14 digits; .tensortap in TIME is ours
//   extra-info/data-dump/DEVICE             of failed ops
//   rank_R/NET/GRAPH/STEP                   MindSpore's up to 2.2; rank_R/debug_files/STEP of ops outside every graph

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_GRAMMAR_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_GRAMMAR_H_

#include "tree/walk.h"

namespace tensortap::ascend {

// The `dump` of a TreeFolder is the name of its folder TIME or rank_R, "" = none; `graph` is the model's number. Companion folders are
// those with manifests, and what lies beside the nets of a rank.
extern const TreeGrammar kGrammar;

// Whether the folder is not directly a device's.
bool is_in_model(const TreeFolder& folder);

// Everything below `folder`, in the order of names. Errors: as walk_tree().
Result<Tree> find_files(const std::string& folder, TreeProblems& problems);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_GRAMMAR_H_
