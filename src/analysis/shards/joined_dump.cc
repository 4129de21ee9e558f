#include "shards/joined_dump.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "query/record_lookup.h"
#include "query/slot_placements.h"
#include "read/open_dump.h"
#include "shards/join_tensors.h"
#include "shards/rank_lines.h"
#include "shards/shard_reader.h"
#include "shards/shard_rows.h"
#include "table/job_dumps.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kSameSum = 1e-2;  // relative L2: parts that add up to the reference's value
constexpr size_t kMostProblems = 10;

// "OP:SLOT", the slot that the lines of a file name.
std::string slot_of_op(const DumpIndex& dump, const RecordRow& row) {
  return concat(op_of(dump, row).name, ":", slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index));
}

// Whole tensors in place of the shards. Immutable once made.
class JoinedDump final : public DumpIndex {
 public:
  JoinedDump(ShardDumps dumps, RankLines lines) : dumps_(std::move(dumps)), lines_(std::move(lines)) {}

  [[nodiscard]] std::string_view layout() const override { return first().layout(); }
  [[nodiscard]] std::span<const RecordRow> rows() const override { return rows_; }
  [[nodiscard]] std::span<const OpInfo> ops() const override { return ops_; }
  [[nodiscard]] Result<RecordData> data(size_t row) const override {
    const ShardSource& source = sources_[row];
    if (source.cuts.empty()) return dumps_.at(source.rank).dump->data(source.row);
    if ((rows_[row].flags & kRecordHasData) == 0) return not_found("not all ranks have data of it");
    auto whole = reader().read(source, source.rank, 0);
    if (!whole.ok()) return whole.status();
    const auto owner = std::make_shared<const WholeTensor>(*std::move(whole));
    return RecordData{{owner->desc, owner->bytes.data(), nullptr}, owner};
  }
  [[nodiscard]] std::string file(size_t row) const override { return dumps_.at(sources_[row].rank).dump->file(sources_[row].row); }
  [[nodiscard]] std::string manifest() const override { return first().manifest(); }
  [[nodiscard]] std::span<const std::string> problems() const override { return problems_; }
  [[nodiscard]] Completeness completeness() const override {
    std::vector<NamedCompleteness> ranks;
    for (const auto& [rank, shard] : dumps_) ranks.push_back({concat("rank ", rank), shard.dump->completeness()});
    return sum_of(ranks);
  }
  [[nodiscard]] std::vector<uint64_t> histogram(size_t row) const override {
    const ShardSource& source = sources_[row];
    return source.cuts.empty() ? dumps_.at(source.rank).dump->histogram(source.row) : std::vector<uint64_t>();
  }

  // Fills it. As join_shards().
  Status fill(const ShardRequest& request, const DumpIndex& reference);

 private:
  [[nodiscard]] const DumpIndex& first() const { return *dumps_.begin()->second.dump; }
  [[nodiscard]] ShardReader reader() const { return {dumps_, lines_}; }
  Status add_rank(const ShardDump& shard, const ShardRequest& request, const DumpIndex& reference, const ShardRows& reference_rows);
  [[nodiscard]] Result<ShardSource> source_of(const ShardDump& shard, uint32_t row, const ShardRequest& request) const;
  void add_told(const ShardDump& shard, ShardSource& source) const;
  void add_unsaid(const ShardDump& shard, ShardSource& source, const DumpIndex& reference, std::optional<uint32_t> beside) const;
  void guess(ShardSource& source, const DumpIndex& reference, std::optional<uint32_t> beside) const;
  [[nodiscard]] bool adds_up(const ShardSource& source, const DumpIndex& reference, uint32_t beside) const;
  Status add_row(const ShardDump& shard, ShardSource source, OpId op, const ShardLine* line);
  void add_problem(std::string text);

  ShardDumps dumps_;
  RankLines lines_;
  std::vector<OpInfo> ops_;
  std::vector<RecordRow> rows_;
  std::vector<ShardSource> sources_;
  std::vector<std::string> problems_;
  size_t sums_ = 0;  // of statistics, which are not to be had
};

void JoinedDump::add_problem(std::string text) {
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(text));
}

// What the file says.
Result<ShardSource> JoinedDump::source_of(const ShardDump& shard, uint32_t row, const ShardRequest& request) const {
  ShardSource source{shard.rank, row, {}};
  const RecordRow& of_rank = shard.dump->rows()[row];
  const ShardLine* line = request.file == nullptr ? nullptr : request.file->line_for(slot_of_op(*shard.dump, of_rank));
  if (line == nullptr) return source;
  const std::string where = concat(request.file->name(), ":", line->number, ": ");
  const size_t dims = of_rank.desc().shape.dims().size();
  if (line->dims > 0 && line->dims != dims) {
    return invalid_argument(concat(where, "names ", line->dims, " dimensions, and ", record_name(of_rank, op_of(*shard.dump, of_rank).name),
                                   " has ", dims, " (", of_rank.desc().shape.to_text(),
                                   "); write as many words, or a narrower expression"));
  }
  for (const ShardCut& cut : line->cuts) {
    if (!lines_.has(cut.group)) {
      const std::vector<std::string> names = lines_.names();
      return invalid_argument(concat(where, "no group is called ", quote(cut.group), "; known: ",
                                     names.empty() ? std::string("none") : join(names, ", "), "; --groups ", cut.group, "=0-3 names one"));
    }
    source.cuts.emplace_back(cut, ShardSource::kByName);
  }
  return source;
}

// What the program's own tensors say: each dimension of the mesh cuts, adds or repeats.
void JoinedDump::add_told(const ShardDump& shard, ShardSource& source) const {
  const SlotPlacement* told = shard.told->of(source.row);
  if (told == nullptr || told->mesh >= shard.meshes.size()) return;
  std::vector<std::pair<ShardCut, size_t>> cuts;
  for (size_t dim = 0; dim < told->placements.size(); ++dim) {
    const std::string_view one = told->placements[dim];
    int64_t axis = 0;
    if (one.starts_with("S(") && one.ends_with(')') && parse_integer(one.substr(2, one.size() - 3), axis) && axis >= 0) {
      cuts.push_back({{static_cast<size_t>(axis), concat(dim), ShardWay::kCut}, told->mesh});
    } else if (one == "P" || one == "P(sum)") {
      cuts.push_back({{0, concat(dim), ShardWay::kSum}, told->mesh});
    } else if (one != "R") {
      return;
    }
  }
  ShardSource whole = source;
  whole.cuts = std::move(cuts);
  const auto described = reader().describe(whole, whole.rank, 0);
  // Another call of the op may have had another placement.
  if (described.ok() && std::ranges::equal(described->desc.shape.dims(), told->shape)) source = std::move(whole);
}

bool JoinedDump::adds_up(const ShardSource& source, const DumpIndex& reference, uint32_t beside) const {
  const auto sum = reader().read(source, source.rank, 0);
  const auto data = reference.data(beside);
  if (!sum.ok() || !data.ok() || sum->desc.dtype != DType::kFloat64 || !is_floating(data->view.desc.dtype)) return false;
  if (dtype_info(data->view.desc.dtype).kind == DTypeKind::kComplex) return false;
  const uint64_t numel = sum->desc.shape.numel().value_or(0);
  std::vector<std::byte> packed(packed_bytes(data->view.desc.dtype, numel).value_or(0));
  copy_packed(data->view, packed.data());
  std::vector<double> expected(numel);
  to_float64(data->view.desc.dtype, packed.data(), 0, numel, expected.data());
  const auto* added = reinterpret_cast<const double*>(sum->bytes.data());
  double error = 0;
  double norm = 0;
  for (uint64_t i = 0; i < numel; ++i) {
    error += (added[i] - expected[i]) * (added[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm > 0 && std::sqrt(error / norm) <= kSameSum;
}

// By the reference: one dimension that is longer there by what the parts of a group make, or what they add up to.
void JoinedDump::guess(ShardSource& source, const DumpIndex& reference, std::optional<uint32_t> beside) const {
  if (!beside) return;
  const RecordRow& own = dumps_.at(source.rank).dump->rows()[source.row];
  const RecordRow& whole = reference.rows()[*beside];
  const Shape wanted = whole.desc().shape;
  const auto fits = [&](const ShardSource& tried) {
    const auto described = reader().describe(tried, tried.rank, 0);
    return described.ok() && described->desc.shape == wanted;
  };
  const bool same = own.desc().shape == wanted;
  if (!same && own.desc().shape.rank() != wanted.rank()) return;
  if (same && (own.digest_kind != 0 && own.digest_kind == whole.digest_kind && std::ranges::equal(own.digest, whole.digest))) return;
  for (const std::string& name : lines_.names()) {
    if (lines_.line_of(name, source.rank).size() < 2) continue;
    for (int dim = 0; dim < (same ? 1 : wanted.rank()); ++dim) {
      if (!same && own.desc().shape[dim] == wanted[dim]) continue;
      ShardSource tried = source;
      tried.cuts = {{{static_cast<size_t>(dim), name, same ? ShardWay::kSum : ShardWay::kCut}, ShardSource::kByName}};
      if (!fits(tried) || (same && !adds_up(tried, reference, *beside))) continue;
      source = std::move(tried);
      return;
    }
  }
}

// What no line of a file says.
void JoinedDump::add_unsaid(const ShardDump& shard, ShardSource& source, const DumpIndex& reference, std::optional<uint32_t> beside) const {
  ShardSource told = source;
  add_told(shard, told);
  const auto whole = told.cuts.empty() ? Result<ShardReader::Described>(not_found("")) : reader().describe(told, told.rank, 0);
  if (whole.ok() && (!beside || whole->desc.shape == reference.rows()[*beside].desc().shape)) {
    source = std::move(told);
    return;
  }
  guess(source, reference, beside);
  if (source.cuts.empty() && whole.ok() && whole->desc.shape.numel() == reference.rows()[*beside].numel) source = std::move(told);
}

Status JoinedDump::add_row(const ShardDump& shard, ShardSource source, OpId op, const ShardLine* line) {
  RecordRow row = shard.dump->rows()[source.row];
  row.op = op;
  row.rank = 0;
  // Numbers of blocks are each rank's own.
  if (row.storage != 0) row.storage |= static_cast<uint64_t>(source.rank + 1) << 40U;
  if (!source.cuts.empty()) {
    const auto whole = reader().describe(source, source.rank, 0);
    const std::string name = record_name(row, op_of(*shard.dump, shard.dump->rows()[source.row]).name);
    if (!whole.ok() && line != nullptr && whole.status().code() == StatusCode::kInvalidArgument) {
      return whole.status().with_context(concat("line ", line->number, ": ", name));
    }
    if (!whole.ok()) {
      add_problem(concat(name, ": ", whole.status().message(), "; it stays as rank ", source.rank, " has it"));
      source.cuts.clear();
    } else {
      row.set_desc(whole->desc);
      row.stats = whole->stats;
      row.flags = static_cast<uint8_t>(whole->has_data ? row.flags | kRecordHasData : row.flags & ~kRecordHasData);
      row.digest_kind = 0;
      row.histogram = 0;
      row.strided = 0;
      const bool sums = std::ranges::any_of(source.cuts, [](const auto& cut) { return cut.first.way == ShardWay::kSum; });
      sums_ += sums && !whole->has_data ? 1 : 0;
    }
  }
  rows_.push_back(row);
  sources_.push_back(std::move(source));
  return {};
}

Status JoinedDump::add_rank(const ShardDump& shard, const ShardRequest& request, const DumpIndex& reference,
                            const ShardRows& reference_rows) {
  std::unordered_map<std::string, OpId> known;
  for (OpId op = 0; op < ops_.size(); ++op) known.emplace(op_key(ops_[op]), op);
  std::vector<OpId> numbers;  // kNoOp for those that an earlier rank has
  const auto ops = shard.dump->ops();
  std::vector<OpId> places;
  for (const OpInfo& op : ops) {
    const auto [found, is_new] = known.emplace(op_key(op), static_cast<OpId>(ops_.size()));
    places.push_back(found->second);
    numbers.push_back(is_new ? found->second : kNoOp);
    if (is_new) ops_.push_back(op);
  }
  for (size_t op = 0; op < ops.size(); ++op) {
    if (numbers[op] == kNoOp) continue;
    OpInfo& own = ops_[numbers[op]];
    if (own.parent < places.size()) own.parent = places[own.parent];
    for (OpInput& input : own.inputs) input.producer = input.producer < places.size() ? places[input.producer] : kNoOp;
  }
  const auto rows = shard.dump->rows();
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (rows[row].op >= numbers.size() || numbers[rows[row].op] == kNoOp || (rows[row].flags & kRecordUnwritten) != 0) continue;
    TENSORTAP_ASSIGN_OR_RETURN(ShardSource source, source_of(shard, row, request));
    const OpInfo& op = op_of(*shard.dump, rows[row]);
    const ShardLine* line = request.file == nullptr ? nullptr : request.file->line_for(slot_of_op(*shard.dump, rows[row]));
    if (line == nullptr) {
      add_unsaid(shard, source, reference, reference_rows.beside(op_key(op), rows[row]));
    }
    TENSORTAP_RETURN_IF_ERROR(add_row(shard, std::move(source), numbers[rows[row].op], line));
  }
  return {};
}

Status JoinedDump::fill(const ShardRequest& request, const DumpIndex& reference) {
  const ShardRows reference_rows(reference);
  for (const auto& [rank, shard] : dumps_) {
    const int64_t stands_for_it = lines_.first_joined(rank);
    if (stands_for_it != rank && dumps_.contains(stands_for_it)) continue;
    TENSORTAP_RETURN_IF_ERROR(add_rank(shard, request, reference, reference_rows));
  }
  if (sums_ > 0) {
    add_problem(concat(sums_, sums_ == 1 ? " record is a partial sum" : " records are partial sums",
                       " with statistics only, from which those of the sum cannot be computed; capture tensors (--full)"));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DumpIndex>> join_shards(const std::string& job, const ShardRequest& request, const DumpIndex& reference) {
  const std::vector<std::string> paths = {job};
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<JobDump> places, find_job_dumps(paths));
  ShardDumps dumps;
  RankLines lines;
  for (const RankGroup& group : request.groups) lines.add(group);
  for (const JobDump& place : places) {
    TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<DumpIndex> dump, open_dump(place.path));
    ShardDump shard{rank_of(place, *dump), nullptr, std::make_unique<ShardRows>(*dump), std::make_unique<ToldPlacements>(*dump),
                    meshes_of(dump->manifest())};
    for (const DeviceMesh& mesh : request.groups.empty() ? shard.meshes : std::vector<DeviceMesh>()) lines.add(mesh);
    shard.dump = std::move(dump);
    const int64_t rank = shard.rank;
    if (!dumps.try_emplace(rank, std::move(shard)).second) {
      return invalid_argument(concat(job, " has several dumps of rank ", rank, "; give a folder with one for each rank"));
    }
  }
  if (lines.empty()) {
    return invalid_argument(
        concat("the dumps in ", job, " name no groups of ranks; name the ranks that hold shards with --groups tp=0-", dumps.size() - 1));
  }
  auto joined = std::make_unique<JoinedDump>(std::move(dumps), std::move(lines));
  TENSORTAP_RETURN_IF_ERROR(joined->fill(request, reference));
  return std::unique_ptr<DumpIndex>(std::move(joined));
}

}  // namespace tensortap
