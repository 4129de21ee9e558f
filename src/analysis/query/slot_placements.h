// How the tensors of an op are spread over the ranks of its job, as the source of the dump says it (docs/pytorch.md).

#ifndef TENSORTAP_QUERY_SLOT_PLACEMENTS_H_
#define TENSORTAP_QUERY_SLOT_PLACEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "trace/op_info.h"

namespace tensortap {

// Of one input of an op that is a part of a distributed tensor.
struct SlotPlacement {
  uint32_t slot = 0;
  int64_t element = -1;
  size_t mesh = 0;                      // number of the mesh in the manifest
  std::vector<std::string> placements;  // one for each dimension of the mesh: "S(0)", "R", "P(sum)"
  std::vector<int64_t> shape;           // of the whole tensor; empty = not said, or a scalar
  // Whether the ranks of the mesh hold different parts along one of its dimensions.
  [[nodiscard]] bool is_shard() const;
};

// What the op's attributes say of them, by slot: {"in1": {"mesh", "placements", "shape"}}; null where they say nothing.
Json placements_json(const OpInfo& op);
// Those of an op; empty where nothing is said, or it cannot be read.
std::vector<SlotPlacement> placements_of(const OpInfo& op);
// Whether any of them is a shard.
bool reads_shards(const OpInfo& op);

// The ranks of a mesh, row by row, and its dimensions.
struct DeviceMesh {
  std::vector<std::string> names;  // of the dimensions; may be empty
  std::vector<size_t> dims;
  std::vector<int64_t> ranks;  // as many as the product of dims
};

// Those of a dump's manifest; empty where it names none, a mesh that cannot be read is one without ranks.
std::vector<DeviceMesh> meshes_of(std::string_view manifest);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_SLOT_PLACEMENTS_H_
