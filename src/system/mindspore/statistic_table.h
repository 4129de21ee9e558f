// statistic.csv of every version: fixed or configured columns in any order, also repeated ones; "(2,3)" and "[2,3]"; null, nan, inf.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_TABLE_H_
#define TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/mindspore/tree/tree_problems.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap::mindspore {

// One line. The views lead into the text that was read.
struct StatisticLine {
  std::string_view op_type;
  std::string_view op_name;  // full (from 2.7.1 on) or as in file names
  uint64_t time = 0;
  uint64_t data_size = 0;
  uint32_t slot = 0;
  bool is_input = false;
  TensorDesc desc;  // kUndefined for a type that we do not know
  TensorStats stats;
  std::array<uint8_t, 20> digest{};
  uint8_t digest_kind = 0;  // DigestKind; MD5 goes before SHA1
};

// The lines that can be read. What can not be is said with `name` and its line; columns that we do not know are passed over.
std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_TABLE_H_
