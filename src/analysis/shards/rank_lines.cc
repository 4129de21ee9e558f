#include "shards/rank_lines.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tensortap {
namespace {

size_t stride_of(const DeviceMesh& mesh, size_t dim) {
  size_t stride = 1;
  for (size_t i = dim + 1; i < mesh.dims.size(); ++i) stride *= mesh.dims[i];
  return stride;
}

}  // namespace

std::vector<int64_t> line_of_mesh(const DeviceMesh& mesh, size_t dim, int64_t rank) {
  std::vector<int64_t> line;
  const auto found = std::ranges::find(mesh.ranks, rank);
  if (found == mesh.ranks.end() || dim >= mesh.dims.size()) return line;
  const size_t stride = stride_of(mesh, dim);
  const auto place = static_cast<size_t>(found - mesh.ranks.begin());
  const size_t first = place - place / stride % mesh.dims[dim] * stride;
  for (size_t i = 0; i < mesh.dims[dim]; ++i) line.push_back(mesh.ranks[first + i * stride]);
  return line;
}

void RankLines::add(const RankGroup& group) { lines_[group.name].push_back(group.ranks); }

void RankLines::add(const DeviceMesh& mesh) {
  for (size_t dim = 0; dim < mesh.dims.size(); ++dim) {
    const bool named = dim < mesh.names.size() && !mesh.names[dim].empty();
    const std::string name = named ? mesh.names[dim] : concat("dim", dim);
    for (const int64_t rank : mesh.ranks) {
      if (line_of(name, rank).empty()) lines_[name].push_back(line_of_mesh(mesh, dim, rank));
    }
  }
}

std::vector<std::string> RankLines::names() const {
  std::vector<std::string> names;
  for (const auto& [name, lines] : lines_) names.push_back(name);
  return names;
}

std::span<const int64_t> RankLines::line_of(std::string_view name, int64_t rank) const {
  const auto found = lines_.find(std::string(name));
  if (found == lines_.end()) return {};
  for (const std::vector<int64_t>& line : found->second) {
    if (std::ranges::find(line, rank) != line.end()) return line;
  }
  return {};
}

int64_t RankLines::first_joined(int64_t rank) const {
  std::set<int64_t> joined = {rank};
  std::vector<int64_t> waiting = {rank};
  while (!waiting.empty()) {
    const int64_t next = waiting.back();
    waiting.pop_back();
    for (const auto& [name, lines] : lines_) {
      for (const int64_t other : line_of(name, next)) {
        if (joined.insert(other).second) waiting.push_back(other);
      }
    }
  }
  return *joined.begin();
}

}  // namespace tensortap
