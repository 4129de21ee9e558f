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

// Opens the dumps of the ranks of a job. The first rank of those that are joined by groups stands for them; ops that only other ranks have,
// as stages of a pipeline, follow. Each of its records is, in this order: what the first line of the file that matches says; what the op
// that made or reads it says of its placement; where nothing is said, by the record of `reference` of the same op and execution: cut where
// its shape is that of the parts put together along one dimension, a sum where the parts add up to it; otherwise as the rank has it.
// Tensors are put together when they are asked for and held by who asked, one at a time; nothing is written. Statistics are those that can
// be had from the parts' own. `reference` is needed during the call only. What could not be done is in problems().
//
// Errors: those of opening; kInvalidArgument for two dumps of one rank, for a group that nobody names, for a line of the file that names
// other dimensions than the tensor has, or whose parts do not fit each other.
Result<std::unique_ptr<DumpIndex>> join_shards(const std::string& job, const ShardRequest& request, const DumpIndex& reference);

// Whether a dump of a rank tells meshes, by which shards can be put together without being told.
bool tells_shards(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_JOINED_DUMP_H_
