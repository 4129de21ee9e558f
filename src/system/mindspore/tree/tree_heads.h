// The headers of all tensor files of a tree.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_HEADS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_HEADS_H_

#include <string>
#include <vector>

#include "system/mindspore/tree/npy_mapped.h"
#include "tree/walk.h"

namespace tensortap::mindspore {

struct FileHead {
  NpyHead head;
  std::string damage;  // "" when the header could be read
};

// One for each of tree.files. Two threads share large trees.
std::vector<FileHead> read_heads(const Tree& tree);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_HEADS_H_
