// The files of a tree of AscendCL's dump, found by their names.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_GE_TREE_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_GE_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"
#include "system/ascend/tree/file_names.h"
#include "tree/problems.h"

namespace tensortap::ascend {

// What the names of the folders around a file say.
struct TreeFolder {
  std::string path;      // to open
  std::string relative;  // to the folder that was opened
  std::string time;      // "" = none
  std::string model;
  std::string model_id;
  int32_t device = 0;
  int64_t step = 0;
  bool in_model = false;  // not directly in a device's folder
};

struct TreeFile {
  uint32_t folder = 0;
  std::string stored;  // the file's name
  std::string name;    // what it stands for: itself, or what mapping.csv says
};

struct FoundFiles {
  std::vector<TreeFolder> folders;
  std::vector<TreeFile> files;
  std::vector<std::string> manifests;  // paths
};

// kCertain when a file of a dump is in the folder, or below it where such a tree has one. Looks into a few folders and files.
Confidence find_tree(const std::string& folder);

// Everything below `folder`, opening only mapping.csv. Errors: kNotFound, kIo when the folder can not be read.
Result<FoundFiles> walk_tree(const std::string& folder, TreeProblems& problems);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_GE_TREE_H_
