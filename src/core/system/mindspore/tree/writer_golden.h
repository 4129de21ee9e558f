// For tests: what the real MindSpore wrote, in tests/golden/mindspore.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_GOLDEN_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_GOLDEN_H_

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace tensortap::mindspore {

inline std::string golden_path(std::string_view name) { return concat(TENSORTAP_TESTDATA, "/golden/mindspore/", name); }

// The names of the trees: "2.10.0-train".
inline std::vector<std::string> golden_trees() {
  std::vector<std::string> trees;
  const auto names = list_directory(golden_path("trees"));
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (name.ends_with(".tensors.jsonl")) trees.push_back(name.substr(0, name.size() - 14));
  }
  return trees;
}

// Unpacks a tree into a folder; its dump is then `folder`/TREE/d.
inline bool unpack_golden_tree(const std::string& tree, const std::string& folder) {
  const std::string command = concat("tar -xzf '", golden_path(concat("trees/", tree, ".tar.gz")), "' -C '", folder, "'");
  return std::system(command.c_str()) == 0;
}

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_GOLDEN_H_
