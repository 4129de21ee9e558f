// The table of statistics that msit's successor puts into the folder of a round: statistic.csv.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_STATISTIC_LINES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_STATISTIC_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"
#include "tree/problems.h"
#include "tree/walk.h"

namespace tensortap::msit {

struct StatisticLine {
  uint32_t folder = 0;    // of the round, in Tree::folders
  std::string operation;  // "1_Decoder_layer/0_LinearOperation"
  bool is_input = false;
  uint16_t slot = 0;
  int32_t format = 0;  // number of the order of elements
  TensorDesc desc;
  TensorStats stats;
};

// The lines of all tables of the tree, in order. Untrusted input: a line that cannot be read is reported with its table and number.
std::vector<StatisticLine> read_statistic_lines(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_STATISTIC_LINES_H_
