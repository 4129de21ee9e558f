// A tree of another system that `tensortap convert` made, as the dump that it was made from. The ops and records of that dump are kept
// beside the tree as a dump of our own layout, without tensors.

#ifndef TENSORTAP_READ_RESTORED_DUMP_H_
#define TENSORTAP_READ_RESTORED_DUMP_H_

#include <memory>
#include <string>
#include <string_view>

#include "trace/dump_index.h"

namespace tensortap {

// Where the ops and records are, below the folder of the converted tree.
inline constexpr std::string_view kOriginFolder = ".tensortap/origin";
// Member of its run.json: {"layout": "ge", "files": [["Conv.conv1"], ...]}, the names of each op in the files of the tree.
inline constexpr const char* kOriginTree = "tree";
// Member of that: [[first row, how many], ...], the origin's rows that the tree has no row for.
inline constexpr const char* kUnfiledRows = "unfiled";

// Returns `tree` with names, edges, statistics, order and everything else of the dump that it was converted from; only the tensors come
// from the tree. Records added since then appear where the tree has them. Returns `tree` unchanged if it has no origin, or if the origin
// belongs to another tree, which problems() then reports. Untrusted.
std::unique_ptr<DumpIndex> restore_dump(std::unique_ptr<DumpIndex> tree, const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_READ_RESTORED_DUMP_H_
