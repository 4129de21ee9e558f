// The dumps of ranks that hold shards, as one dump of whole tensors.

#ifndef TENSORTAP_SHARDS_JOINED_DUMP_H_
#define TENSORTAP_SHARDS_JOINED_DUMP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ranks/rank_groups.h"
#include "shards/shard_file.h"
#include "trace/dump_index.h"

namespace tensortap {

struct ShardRequest {
  const ShardFile* file = nullptr;  // null: as the dumps say, and by the shapes
  std::vector<RankGroup> groups;    // empty: the named dimensions of the meshes that the dumps tell
};

// Opens the dumps of the ranks of a job as one. The first rank of those that groups join represents them; ops that only other ranks have,
// such as stages of a pipeline, follow. The first of these that applies decides how a record is put together:
// - the first matching line of the file,
// - the placement that is recorded for the op that made or reads it,
// - the record of `reference` for the same op and execution: the record is cut if that has the shape of the parts put together along one
//   dimension, a sum if the parts add up to it,
// - otherwise it stays as the rank has it.
// Tensors are put together on request, one at a time, and the caller holds them; nothing is written. Statistics are those that can be
// computed from the parts' statistics. `reference` is needed during the call only. problems() reports what could not be done.
//
// Errors: those of opening; kInvalidArgument for two dumps of one rank, for a group that nothing defines, for a line of the file that
// names other dimensions than the tensor has, or whose parts do not fit each other.
Result<std::unique_ptr<DumpIndex>> join_shards(const std::string& job, const ShardRequest& request, const DumpIndex& reference);

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_JOINED_DUMP_H_
