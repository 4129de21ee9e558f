// The headers of all NumPy files of a tree.

#ifndef TENSORTAP_TREE_NPY_HEADS_H_
#define TENSORTAP_TREE_NPY_HEADS_H_

#include <string>
#include <vector>

#include "tree/npy_mapped.h"
#include "tree/walk.h"

namespace tensortap {

struct FileHead {
  NpyHead head;
  std::string damage;        // "" when the header could be read
  bool unsupported = false;  // whether that is since it holds what no tensor can, such as Python objects
};

// One for each of tree.files. Two threads share large trees.
std::vector<FileHead> read_heads(const Tree& tree);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_NPY_HEADS_H_
