// A tree of another system that `tensortap convert` made, as the dump that it was made from: beside the tree that dump's ops and records
// are kept, without tensors, as a dump of our own layout.

#ifndef TENSORTAP_READ_RESTORED_DUMP_H_
#define TENSORTAP_READ_RESTORED_DUMP_H_

#include <memory>
#include <string>
#include <string_view>

#include "trace/dump_index.h"

namespace tensortap {

// Where the ops and records are, below the folder that was converted to.
inline constexpr std::string_view kOriginFolder = ".tensortap/origin";
// Member of its run.json: {"layout": "ge", "files": [["Conv.conv1"], ...]}, what the files of each op are called by.
inline constexpr const char* kOriginTree = "tree";
// Member of that: [[first row, how many], ...], the origin's rows that the tree has no row of.
inline constexpr const char* kUnfiledRows = "unfiled";

// `tree` with names, edges, statistics, order and everything else of what the folder was converted from; tensors are the tree's. Records
// that were added since stand where the tree has them. `tree` as it is where nothing is kept beside it, or what is kept is not of this
// tree: then a sentence of problems() says so. Untrusted.
std::unique_ptr<DumpIndex> restore_dump(std::unique_ptr<DumpIndex> tree, const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_READ_RESTORED_DUMP_H_
