// The file of `compare --shards`: how the tensors of a job are cut over its ranks.

#ifndef TENSORTAP_SHARDS_SHARD_FILE_H_
#define TENSORTAP_SHARDS_SHARD_FILE_H_

#include <re2/re2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

enum class ShardWay : uint8_t {
  kCut,     // each rank of the group has a part of the dimension, in the order of the group
  kZigzag,  // of 2n equal parts of the dimension the rank at i has those at i and 2n - 1 - i
  kSum,     // each rank has a summand of every element
};

// How a tensor lies over the ranks of one group.
struct ShardCut {
  size_t dim = 0;  // means nothing for sums
  std::string group;
  ShardWay way = ShardWay::kCut;
};

// A line: "REGEX  b s h(tp)". The words are the tensor's dimensions, with the groups that they are cut over behind them.
struct ShardLine {
  std::unique_ptr<re2::RE2> pattern;
  size_t number = 0;
  size_t dims = 0;  // words that are dimensions; 0 = not said
  std::vector<ShardCut> cuts;
};

class ShardFile {
 public:
  // Errors: kInvalidArgument with the place, what is wrong and what to write instead.
  static Result<ShardFile> parse(std::string_view text, std::string_view name);

  // The first line whose expression is found in "OP:SLOT"; null when none is.
  [[nodiscard]] const ShardLine* line_for(std::string_view value) const;
  [[nodiscard]] const std::vector<ShardLine>& lines() const { return lines_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<ShardLine> lines_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_SHARD_FILE_H_
