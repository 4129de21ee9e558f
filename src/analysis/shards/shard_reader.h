// The parts of a record, from the dumps of the ranks that have them.

#ifndef TENSORTAP_SHARDS_SHARD_READER_H_
#define TENSORTAP_SHARDS_SHARD_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/slot_placements.h"
#include "shards/join_tensors.h"
#include "shards/rank_lines.h"
#include "shards/shard_file.h"
#include "shards/shard_rows.h"
#include "trace/dump_index.h"

namespace tensortap {

// The dump of one rank.
struct ShardDump {
  int64_t rank = 0;
  std::unique_ptr<DumpIndex> dump;
  std::unique_ptr<ShardRows> rows;
  std::unique_ptr<ToldPlacements> told;
  std::vector<DeviceMesh> meshes;
};
using ShardDumps = std::map<int64_t, ShardDump>;

// A record of a rank, and how it is put together.
struct ShardSource {
  int64_t rank = 0;
  uint32_t row = 0;
  std::vector<std::pair<ShardCut, size_t>> cuts;  // the outermost first; with the mesh that names its group, kByName
  static constexpr size_t kByName = SIZE_MAX;
};

// Borrows what it is made of.
class ShardReader {
 public:
  ShardReader(const ShardDumps& dumps, const RankLines& lines) : dumps_(dumps), lines_(lines) {}

  // Shape, statistics and whether there are data, from the rows alone, of the tensor that a rank's part belongs to by the cuts from `cut`
  // on. Errors: kNotFound when a rank lacks the record, kInvalidArgument when the parts do not fit or a rank is in no such group.
  struct Described {
    TensorDesc desc;
    TensorStats stats;
    bool has_data = false;
  };
  [[nodiscard]] Result<Described> describe(const ShardSource& source, int64_t rank, size_t cut) const;
  // The tensor. Errors: those, and what the dumps cannot read.
  [[nodiscard]] Result<WholeTensor> read(const ShardSource& source, int64_t rank, size_t cut) const;

 private:
  // The ranks of the group that the cut names. A cut with a mesh names a dimension of it by number.
  [[nodiscard]] std::vector<int64_t> line_of(const std::pair<ShardCut, size_t>& cut, int64_t rank) const;
  [[nodiscard]] Result<uint32_t> row_of(const ShardSource& source, int64_t rank) const;
  [[nodiscard]] Result<WholeTensor> read_part(const ShardSource& source, int64_t rank) const;

  const ShardDumps& dumps_;
  const RankLines& lines_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_SHARD_READER_H_
