// The folders of a MindSpore dump and the tensor files in them, found by their names; nothing but mapping.csv is opened.
//
//   rank_R/NET/GRAPH/ITERATION/              rank_R/NET/GRAPH/constants/            the synchronous tree
//   [STEP/]TIME/DEVICE/NET/GRAPH/ITERATION/  [STEP/]TIME/DEVICE/[ITERATION/]        the asynchronous ones, TIME of 14 digits

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_WALK_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_WALK_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "system/mindspore/names.h"
#include "tree/problems.h"

namespace tensortap::mindspore {

// One folder that holds tensor files. Does not move once it is in a Tree: views lead into it.
struct LeafFolder {
  std::string path;       // to open
  std::string relative;   // to the folder that was opened, "" for that one
  std::string rank_path;  // of the folder rank_R, where the graphs are; "" outside of one
  std::string net;
  std::string graph;
  int32_t rank = 0;
  int64_t step = 0;
  bool step_above = false;  // a folder STEP around TIME said it
  bool constants = false;
  bool has_statistics = false;
  std::vector<std::string> arguments;  // names of the files "OP.SCOPE.json"
  std::string names;                   // file names, one after another
  std::string mapping;                 // content of mapping.csv
};

struct TensorFile {
  std::string_view file_name;  // in LeafFolder::names
  TensorFileName fields;       // of the name that mapping.csv gives it, where it does
  uint32_t folder = 0;         // in Tree::folders
};

struct Tree {
  std::deque<LeafFolder> folders;
  std::vector<TensorFile> files;  // those of one folder stand together
};

// What the folder is in a dump, by its own name, those of its parents and what lies in it.
enum class TreeRole : uint8_t { kNone, kRoot, kRank, kNet, kGraph, kLeaf, kTime, kDevice };

struct TreePlace {
  TreeRole role = TreeRole::kNone;
  bool certain = false;  // not by the names of files alone
  LeafFolder known;      // what the names of the parents tell
};

// kNone for folders that can not be read, and for those that hold nothing of a dump. Looks at a few names in a few folders.
TreePlace place_in_tree(const std::string& folder);

// Everything below `folder`. Errors: kNotFound when it is no dump.
Result<Tree> walk_tree(const std::string& folder, TreeProblems& problems);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_WALK_H_
