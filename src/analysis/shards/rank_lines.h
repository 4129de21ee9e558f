// Groups of ranks by name: over which ranks a tensor is cut.

#ifndef TENSORTAP_SHARDS_RANK_LINES_H_
#define TENSORTAP_SHARDS_RANK_LINES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/slot_placements.h"
#include "ranks/rank_groups.h"

namespace tensortap {

// "tp" has [0, 1] and [2, 3], say: lines of the mesh of ranks. A rank is in one of each name at most.
class RankLines {
 public:
  void add(const RankGroup& group);
  // The lines of a mesh along each of its dimensions, "dim0" and so on where these have no names.
  void add(const DeviceMesh& mesh);

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] bool has(std::string_view name) const { return lines_.contains(std::string(name)); }
  [[nodiscard]] std::vector<std::string> names() const;
  // The ranks of the line of a name that a rank is in, in the order of the group; empty when it is in none.
  [[nodiscard]] std::span<const int64_t> line_of(std::string_view name, int64_t rank) const;
  // The first rank of those that are joined with this one by any of the groups.
  [[nodiscard]] int64_t first_joined(int64_t rank) const;

 private:
  std::map<std::string, std::vector<std::vector<int64_t>>> lines_;
};

// The ranks of a mesh that differ from `rank` in one dimension only, itself among them; empty when it is not in the mesh.
std::vector<int64_t> line_of_mesh(const DeviceMesh& mesh, size_t dim, int64_t rank);

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_RANK_LINES_H_
