#include "shards/shard_reader.h"

#include <span>
#include <string>

#include "base/text.h"

namespace tensortap {
namespace {

bool holds_data(const RecordRow& row) { return (row.flags & kRecordHasData) != 0 || row.numel == 0; }

}  // namespace

std::vector<int64_t> ShardReader::line_of(const std::pair<ShardCut, size_t>& cut, int64_t rank) const {
  if (cut.second == ShardSource::kByName) {
    const auto line = lines_.line_of(cut.first.group, rank);
    return {line.begin(), line.end()};
  }
  int64_t dim = 0;
  const auto& meshes = dumps_.at(rank).meshes;
  if (!parse_integer(cut.first.group, dim) || cut.second >= meshes.size()) return {};
  return line_of_mesh(meshes[cut.second], static_cast<size_t>(dim), rank);
}

// An error that names the rank when it has none.
Result<uint32_t> ShardReader::row_of(const ShardSource& source, int64_t rank) const {
  if (rank == source.rank) return source.row;
  const DumpIndex& own = *dumps_.at(source.rank).dump;
  const RecordRow& row = own.rows()[source.row];
  const auto other = dumps_.find(rank);
  if (other == dumps_.end()) return not_found(concat("rank ", rank, " has no dump"));
  const auto found = other->second.rows->beside(op_key(op_of(own, row)), row);
  if (!found) return not_found(concat("rank ", rank, " has no ", record_name(row, op_of(own, row).name)));
  return *found;
}

Result<ShardReader::Described> ShardReader::describe(const ShardSource& source, int64_t rank, size_t cut) const {
  if (cut == source.cuts.size()) {
    TENSORTAP_ASSIGN_OR_RETURN(const uint32_t row, row_of(source, rank));
    const RecordRow& of_rank = dumps_.at(rank).dump->rows()[row];
    return Described{of_rank.desc(), of_rank.stats, holds_data(of_rank)};
  }
  const std::vector<int64_t> line = line_of(source.cuts[cut], rank);
  if (line.empty()) return invalid_argument(concat("rank ", rank, " is in no group ", quote(source.cuts[cut].first.group)));
  Described whole;
  std::vector<Shape> shapes;
  std::vector<TensorStats> stats;
  whole.has_data = true;
  for (const int64_t member : line) {
    TENSORTAP_ASSIGN_OR_RETURN(const Described part, describe(source, member, cut + 1));
    shapes.push_back(part.desc.shape);
    stats.push_back(part.stats);
    whole.desc.dtype = part.desc.dtype;
    whole.has_data = whole.has_data && part.has_data;
  }
  TENSORTAP_ASSIGN_OR_RETURN(whole.desc.shape, joined_shape(shapes, source.cuts[cut].first));
  whole.stats = joined_stats(stats, source.cuts[cut].first);
  return whole;
}

Result<WholeTensor> ShardReader::read(const ShardSource& source, int64_t rank, size_t cut) const {
  if (cut == source.cuts.size()) return read_part(source, rank);
  std::vector<WholeTensor> parts;
  for (const int64_t member : line_of(source.cuts[cut], rank)) {
    TENSORTAP_ASSIGN_OR_RETURN(WholeTensor part, read(source, member, cut + 1));
    parts.push_back(std::move(part));
  }
  return join_tensors(parts, source.cuts[cut].first);
}

Result<WholeTensor> ShardReader::read_part(const ShardSource& source, int64_t rank) const {
  TENSORTAP_ASSIGN_OR_RETURN(const uint32_t row, row_of(source, rank));
  const DumpIndex& dump = *dumps_.at(rank).dump;
  WholeTensor part{dump.rows()[row].desc(), {}};
  if (dump.rows()[row].numel == 0) return part;
  TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump.data(row));
  const auto numel = data.view.desc.shape.numel();
  const auto bytes = numel ? packed_bytes(data.view.desc.dtype, *numel) : std::nullopt;
  if (!bytes) return unsupported("tensors of this type are not put together");
  part.desc = data.view.desc;
  part.bytes.resize(*bytes);
  copy_packed(data.view, part.bytes.data());
  return part;
}

}  // namespace tensortap
