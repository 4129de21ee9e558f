// The operations of a walked tree as ops, with their parents.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_OPERATIONS_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_OPERATIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "system/msit/tree/statistic_lines.h"
#include "trace/op_info.h"
#include "tree/problems.h"
#include "tree/walk.h"

namespace tensortap::msit {

struct Operations {
  std::vector<OpInfo> ops;                 // parents before their children, otherwise in the order of their ids
  std::vector<std::vector<uint32_t>> ids;  // by op
  std::vector<std::string> paths;          // by op: "1_Decoder_layer/0_LinearOperation"
  std::vector<OpId> of_folders;            // by Tree::folders; kNoOp for a folder of no operation
  std::vector<OpId> of_lines;              // by line of the tables of statistics
};

// Reads the op_param.json of each operation that has one. Reports and skips a file that is not a JSON object. `lines` are those of the
// tree's tables.
Operations read_operations(const Tree& tree, std::span<const StatisticLine> lines, TreeProblems& problems);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_OPERATIONS_H_
