// The records of a walked tree, and what all trees say of a record in the same way.

#ifndef TENSORTAP_TREE_TREE_ROWS_H_
#define TENSORTAP_TREE_TREE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/op_info.h"
#include "trace/record_row.h"
#include "tree/walk.h"

namespace tensortap {

inline constexpr uint32_t kNoFile = 0xffffffffU;

struct TreeRows {
  std::vector<RecordRow> rows;
  std::vector<uint32_t> files;    // by row: in Tree::files, kNoFile for statistics only
  std::vector<uint32_t> folders;  // by row: in Tree::folders
  std::vector<OpInfo> ops;
  std::vector<uint32_t> overflowed;   // rows of outputs that the tree lists as overflowed, in order
  std::vector<std::string> op_files;  // by op: its name in the files; may be shorter, "" = not known

  // Adds a row behind the others and numbers it.
  void add(RecordRow row, uint32_t folder, uint32_t file);
};

// The row of a tensor in a folder, so many microseconds after the first one of the tree. It has no description yet.
RecordRow tree_row(const TreeFolder& folder, OpId op, SlotKind kind, uint32_t slot, uint64_t microseconds);

// The manifest with what the tree lists of overflows (trace/overflowed_ops.h).
std::string with_overflows(std::string manifest, const TreeRows& rows);

// Makes the names of ops unique, by their graph where that is enough, and names every slot that has a record.
void finish_ops(TreeRows& rows);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_TREE_ROWS_H_
