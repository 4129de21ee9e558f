// The headers of all tensor files of a tree.

#ifndef TENSORTAP_LAYOUT_MINDSPORE_TREE_HEADS_H_
#define TENSORTAP_LAYOUT_MINDSPORE_TREE_HEADS_H_

#include <string>
#include <vector>

#include "layout/mindspore/npy_mapped.h"
#include "layout/mindspore/tree_walk.h"

namespace tensortap::mindspore_tree {

struct FileHead {
  NpyHead head;
  std::string damage;  // "" when the header could be read
};

// One for each of tree.files. Two threads share large trees.
std::vector<FileHead> read_heads(const Tree& tree);

}  // namespace tensortap::mindspore_tree

#endif  // TENSORTAP_LAYOUT_MINDSPORE_TREE_HEADS_H_
