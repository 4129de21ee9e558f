// What the names in a tree of `msit llm dump` mean:
//
//   msit_dump_TIME/tensors/DEVICE_PID/TID/ID_OPERATION[/CHILD_OPERATION...]/before/intensor0.bin

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_GRAMMAR_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_GRAMMAR_H_

#include "tree/walk.h"

namespace tensortap::msit {

// A tree may be given at every level. Of a TreeFolder the `model` is DEVICE_PID, the `graph` the path of the operation below TID, and the
// `step` TID.
extern const TreeGrammar kGrammar;

// Whether the folder is "before".
bool is_before(const TreeFolder& folder);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_GRAMMAR_H_
