// Reads the trees of MindSpore's dumps, of every version from 1.3 on. docs/layouts/mindspore_reading.md is the authority.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_READER_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::mindspore {

// Functions of the layout's row.
//
// A tree may be opened at any level: the folder that contains rank_N, rank_N, the net's, the graph's and an iteration's folder; also the
// folders of asynchronous dumps. kMaybe for folders that only the names of their files reveal.
Confidence recognise_tree(const std::string& folder);
// Errors: kNotFound when the folder contains nothing of a dump. problems() has all other faults.
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_READER_H_
