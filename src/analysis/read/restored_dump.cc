#include "read/restored_dump.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr size_t kNoRow = std::numeric_limits<size_t>::max();
constexpr std::byte kNoElements{};  // what a tensor without elements points at
constexpr uint8_t kDataFlags = kRecordHasData | kRecordDataLost | kRecordRaw;
constexpr uint8_t kNoFlags = 0;

// A record, by its row in the tree and in what is kept beside it.
struct Joined {
  size_t tree = kNoRow;
  size_t origin = kNoRow;
  size_t place = 0;  // in the order of the origin
};

struct RestoredContent {
  std::vector<OpInfo> ops;
  std::vector<RecordRow> rows;
  std::vector<Joined> joined;  // by row
  std::vector<std::string> problems;
  std::string manifest;
  Completeness completeness;
};

class RestoredDump : public DumpIndex {
 public:
  RestoredDump(std::unique_ptr<DumpIndex> tree, std::unique_ptr<DumpIndex> origin, RestoredContent content)
      : tree_(std::move(tree)), origin_(std::move(origin)), content_(std::move(content)) {}

  std::string_view layout() const override { return tree_->layout(); }
  std::string_view model() const override { return tree_->model(); }
  std::span<const RecordRow> rows() const override { return content_.rows; }
  std::span<const OpInfo> ops() const override { return content_.ops; }
  std::string manifest() const override { return content_.manifest; }
  std::span<const std::string> problems() const override { return content_.problems; }
  Completeness completeness() const override { return content_.completeness; }

  Result<RecordData> data(size_t row) const override {
    if (row >= content_.rows.size()) return tree_->data(kNoRow);
    const RecordRow& record = content_.rows[row];
    if (record.numel == 0 && (record.flags & kRecordHasData) != 0) return RecordData{{record.desc(), &kNoElements, nullptr}, nullptr};
    const size_t in_tree = content_.joined[row].tree;
    if (in_tree == kNoRow) return not_found("the tree that the dump was converted to has no values of this record");
    TENSORTAP_ASSIGN_OR_RETURN(RecordData data, tree_->data(in_tree));
    const TensorDesc desc = record.desc();
    // A tree may keep a scalar as a vector.
    if (desc.dtype == data.view.desc.dtype && desc.shape.numel() == data.view.desc.shape.numel()) data.view.desc = desc;
    return data;
  }
  std::string file(size_t row) const override {
    const size_t in_tree = row < content_.rows.size() ? content_.joined[row].tree : kNoRow;
    return in_tree == kNoRow ? "" : tree_->file(in_tree);
  }
  std::vector<uint64_t> histogram(size_t row) const override {
    const size_t kept = row < content_.rows.size() ? content_.joined[row].origin : kNoRow;
    return kept == kNoRow ? std::vector<uint64_t>() : origin_->histogram(kept);
  }
  Result<std::string> document(std::string_view name) const override { return origin_->document(name); }
  Result<TensorSketch> sketch(size_t row) const override {
    const size_t kept = row < content_.rows.size() ? content_.joined[row].origin : kNoRow;
    return kept == kNoRow ? DumpIndex::sketch(row) : origin_->sketch(kept);
  }

 private:
  std::unique_ptr<DumpIndex> tree_;
  std::unique_ptr<DumpIndex> origin_;
  RestoredContent content_;
};

class Restorer {
 public:
  Restorer(const DumpIndex& tree, const DumpIndex& origin) : tree_(tree), origin_(origin) {
    content_.problems.assign(tree.problems().begin(), tree.problems().end());
    if (const Layout* layout = find_layout(tree.layout()); layout != nullptr) keeps_ = layout->keeps;
  }

  // False when the kept origin belongs to another tree.
  bool restore() {
    Result<Json> manifest = parse_json(origin_.manifest(), "run.json");
    if (!manifest.ok() || !manifest->is_object() || !read_files(*manifest)) return false;
    manifest->erase(kOriginTree);
    content_.manifest = to_json_text(*manifest);
    if (!join_rows()) return false;
    add_ops();
    content_.completeness = origin_.completeness();
    make_rows();
    for (const std::string& reason : tree_.completeness().reasons) content_.completeness.lack(reason);
    return true;
  }
  // Takes the tree as it would be without the origin.
  void keep_the_tree(const std::string& problem) {
    content_.ops.assign(tree_.ops().begin(), tree_.ops().end());
    content_.rows.assign(tree_.rows().begin(), tree_.rows().end());
    content_.joined.clear();
    for (size_t i = 0; i < content_.rows.size(); ++i) content_.joined.push_back({i, kNoRow, i});
    content_.manifest = tree_.manifest();
    content_.completeness = tree_.completeness();
    content_.problems.push_back(problem);
  }
  RestoredContent take() { return std::move(content_); }

 private:
  // Records of one slot of an op in one step. A record made when a model is loaded may be in any step, and so may that of an op that failed
  // if the tree keeps those apart. Files of different threads have no order among each other.
  using Key = std::tuple<OpId, int32_t, uint32_t, bool, int64_t, uint8_t, uint32_t>;
  using Numbers = std::vector<size_t>;
  static constexpr int64_t kAnyStep = std::numeric_limits<int64_t>::min();

  bool read_files(const Json& manifest) {
    const auto told = manifest.find(kOriginTree);
    if (told == manifest.end() || !told->is_object() || told->value("layout", Json()) != Json(std::string(tree_.layout()))) return false;
    const auto files = told->find("files");
    if (files == told->end() || !files->is_array() || files->size() != origin_.ops().size()) return false;
    std::map<std::string, OpId, std::less<>> by_file;
    for (OpId op = 0; op < files->size(); ++op) {
      if (!(*files)[op].is_array()) return false;
      for (const Json& name : (*files)[op]) {
        if (name.is_string()) by_file.try_emplace(name.get<std::string>(), op);
      }
    }
    for (OpId op = 0; op < tree_.ops().size(); ++op) {
      const auto found = by_file.find(tree_.file_name_of(op));
      op_of_tree_.push_back(found == by_file.end() ? kNoOp : found->second);
    }
    return read_unfiled(*told);
  }

  // [[first row, how many], ...]. Earlier versions did not tell.
  bool read_unfiled(const Json& told) {
    unfiled_.assign(origin_.rows().size(), false);
    const auto found = told.find(kUnfiledRows);
    if (found == told.end()) return true;
    if (!found->is_array()) return false;
    for (const Json& range : *found) {
      if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() || !range[1].is_number_unsigned()) return false;
      const auto first = range[0].get<uint64_t>();
      const auto count = range[1].get<uint64_t>();
      if (first > unfiled_.size() || count > unfiled_.size() - first) return false;
      std::fill_n(unfiled_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    }
    return true;
  }

  [[nodiscard]] Key key_of(OpId op, const RecordRow& row) const {
    const bool failed = tells_failures_ && (row.flags & kRecordFailedOp) != 0;
    return {op,
            tells_ranks_ ? row.rank : 0,
            tells_threads_ ? row.thread : 0,
            failed,
            failed || loaded_.contains(op) ? kAnyStep : row.step,
            row.slot_kind,
            row.file_slot()};
  }

  template <class Value>
  static std::set<Value> values_of(const DumpIndex& dump, Value RecordRow::*member) {
    std::set<Value> values;
    for (const RecordRow& row : dump.rows()) values.insert(row.*member);
    return values;
  }

  // Whether this record can be that row of the tree. The tree stores a type that it cannot represent as a wider one.
  [[nodiscard]] bool can_be(size_t in_origin, size_t in_tree) const {
    const RecordRow& record = origin_.rows()[in_origin];
    const RecordRow& row = tree_.rows()[in_tree];
    const auto dtype = static_cast<DType>(row.dtype);
    if (dtype == DType::kUndefined) return true;  // a brief file says neither type nor shape
    if (row.numel != record.numel) return false;
    if (row.dtype != record.dtype) return keeps_.dtype != nullptr && !keeps_.dtype(static_cast<DType>(record.dtype));
    return !keeps_.scalars || row.desc().shape == record.desc().shape;
  }

  // Pairs the rows of one key with the records, both in order. Some trees silently write no file for a record, such as a tensor without
  // elements; then types and shapes decide. False when a row matches no record.
  bool pair(const Numbers& records, const Numbers& rows, Numbers& record_of) const {
    size_t next = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      while (next < records.size() && !can_be(records[next], rows[i])) ++next;
      if (next == records.size()) return false;
      record_of[rows[i]] = records[next++];
    }
    return true;
  }

  // The record that each row of the tree is; kNoRow if only the tree has it.
  bool find_records(Numbers& record_of) {
    std::map<Key, std::pair<Numbers, Numbers>> by_key;  // records, rows
    for (size_t i = 0; i < origin_.rows().size(); ++i) {
      const RecordRow& row = origin_.rows()[i];
      if (!unfiled_[i] && row.op < origin_.ops().size()) by_key[key_of(row.op, row)].first.push_back(i);
    }
    for (size_t i = 0; i < tree_.rows().size(); ++i) {
      const OpId op = op_of(tree_.rows()[i]);
      if (op == kNoOp) continue;
      const auto found = by_key.find(key_of(op, tree_.rows()[i]));
      if (found != by_key.end()) found->second.second.push_back(i);
    }
    for (const auto& [key, both] : by_key) {
      // Weights appear in every step of the tree, but only the first appearance is a record.
      if (!pair(both.first, both.second, record_of) && !loaded_.contains(std::get<0>(key))) return false;
    }
    return true;
  }

  [[nodiscard]] OpId op_of(const RecordRow& row) const { return row.op < op_of_tree_.size() ? op_of_tree_[row.op] : kNoOp; }

  bool join_rows() {
    tells_ranks_ = values_of(tree_, &RecordRow::rank) == values_of(origin_, &RecordRow::rank);
    tells_threads_ = values_of(tree_, &RecordRow::thread) == values_of(origin_, &RecordRow::thread);
    tells_failures_ = std::ranges::any_of(tree_.rows(), [](const RecordRow& row) { return (row.flags & kRecordFailedOp) != 0; });
    for (const RecordRow& row : origin_.rows()) {
      if (row.op < origin_.ops().size() && row.phase == static_cast<uint8_t>(Phase::kLoad)) loaded_.insert(row.op);
    }
    Numbers record_of(tree_.rows().size(), kNoRow);
    if (!find_records(record_of)) return false;
    std::vector<bool> joined_before(origin_.rows().size(), false);
    std::vector<Joined> joined;
    for (size_t i = 0; i < record_of.size(); ++i) {
      const OpId op = op_of(tree_.rows()[i]);
      const bool same_weight_again = record_of[i] == kNoRow && op != kNoOp && loaded_.contains(op);
      if (same_weight_again) continue;
      joined.push_back({i, record_of[i], 0});
      if (record_of[i] != kNoRow) joined_before[record_of[i]] = true;
    }
    for (size_t i = 0; i < joined_before.size(); ++i) {
      if (!joined_before[i] && origin_.rows()[i].op < origin_.ops().size()) joined.push_back({kNoRow, i, i});
    }
    put_in_order(std::move(joined));
    return tree_.rows().empty() || std::ranges::find(joined_before, true) != joined_before.end();
  }

  // As the origin has them; what it has not comes before what follows it in the tree.
  void put_in_order(std::vector<Joined> joined) {
    size_t place = origin_.rows().size();
    for (size_t i = joined.size(); i-- > 0;) {
      if (joined[i].origin != kNoRow) place = joined[i].origin;
      joined[i].place = place;
    }
    std::ranges::stable_sort(joined, [](const Joined& a, const Joined& b) {
      return std::tuple(a.place, a.origin != kNoRow) < std::tuple(b.place, b.origin != kNoRow);
    });
    content_.joined = std::move(joined);
  }

  // The origin's, and those of the tree that it does not know and that have records.
  void add_ops() {
    content_.ops.assign(origin_.ops().begin(), origin_.ops().end());
    std::set<OpId> wanted;
    for (const Joined& one : content_.joined) {
      if (one.tree == kNoRow) continue;
      const OpId op = tree_.rows()[one.tree].op;
      if (op < op_of_tree_.size() && op_of_tree_[op] == kNoOp) wanted.insert(op);
    }
    for (const OpId op : wanted) op_of_tree_[op] = static_cast<OpId>(origin_.ops().size() + new_ops_++);
    const auto number = [this](OpId op) { return op < op_of_tree_.size() ? op_of_tree_[op] : kNoOp; };
    std::set<std::string> used;
    for (const OpInfo& op : content_.ops) used.insert(op.name);
    for (const OpId id : wanted) {
      OpInfo op = tree_.ops()[id];
      op.parent = number(op.parent);
      for (OpInput& input : op.inputs) input.producer = number(input.producer);
      const std::string name = op.name;
      for (int i = 2; !used.insert(op.name).second; ++i) op.name = concat(name, "~", i);
      content_.ops.push_back(std::move(op));
    }
  }

  void make_rows() {
    size_t gone = 0;
    for (const Joined& one : content_.joined) {
      RecordRow row = one.origin == kNoRow ? tree_.rows()[one.tree] : origin_.rows()[one.origin];
      if (one.origin == kNoRow) add_place(one, row);
      const bool had_values = (row.flags & kRecordDataLost) != 0;
      // Where there are no elements, nothing is missing, and trees differ in whether they have such a tensor.
      const bool empty = one.origin != kNoRow && row.numel == 0;
      if (one.tree == kNoRow) gone += had_values && !empty ? 1 : 0;
      if (one.tree != kNoRow && one.origin != kNoRow) join(tree_.rows()[one.tree], row);
      if (empty) row.flags = static_cast<uint8_t>((row.flags & ~kDataFlags) | (had_values ? uint8_t{kRecordHasData} : kNoFlags));
      row.sequence = content_.rows.size();
      content_.rows.push_back(row);
    }
    if (gone == 0) return;
    content_.problems.push_back(concat("the tree has no values of ", gone, " records of the dump that it was converted from"));
    // The tree may never have had room for them: its types are fewer.
    content_.completeness.worsen(DumpState::kUnknown);
  }

  // What is only in the tree belongs to the run of what follows it there.
  void add_place(const Joined& one, RecordRow& row) const {
    row.op = row.op < op_of_tree_.size() ? op_of_tree_[row.op] : kNoOp;
    if (one.place >= origin_.rows().size() || origin_.rows()[one.place].step != row.step) return;
    row.run = origin_.rows()[one.place].run;
    row.thread = origin_.rows()[one.place].thread;
    row.time_ns = origin_.rows()[one.place].time_ns;
  }

  // The tree decides where the values are, and what they are.
  static void join(const RecordRow& tree, RecordRow& row) {
    row.flags = static_cast<uint8_t>((row.flags & ~kDataFlags) | (tree.flags & kDataFlags));
    row.data_offset = tree.data_offset;
    row.data_bytes = tree.data_bytes;
    row.data_header = 0;
    row.member = 0;
    row.rank = tree.rank;
    if (row.stats.valid == 0) row.stats = tree.stats;
    if (tree.dtype == row.dtype && tree.numel == row.desc().shape.numel()) return;
    row.set_desc(tree.desc());
    row.digest_kind = 0;
    row.strided = 0;
  }

  const DumpIndex& tree_;
  const DumpIndex& origin_;
  std::vector<OpId> op_of_tree_;  // by the tree's op: the origin's, or a new one
  size_t new_ops_ = 0;
  Keeps keeps_;
  std::vector<bool> unfiled_;  // by the origin's row: it has none in the tree
  // Whether the tree tells this of each record.
  bool tells_ranks_ = false;
  bool tells_threads_ = false;
  bool tells_failures_ = false;
  std::set<OpId> loaded_;
  RestoredContent content_;
};

}  // namespace

std::unique_ptr<DumpIndex> restore_dump(std::unique_ptr<DumpIndex> tree, const std::string& folder) {
  const std::string path = join_path(folder, kOriginFolder);
  const Layout* own = find_layout("tap");
  if (tree->layout() == "tap" || own == nullptr || own->recognise(path) != Confidence::kCertain) return tree;
  Result<std::unique_ptr<DumpIndex>> origin = own->open(path);
  if (!origin.ok()) return tree;
  Restorer restorer(*tree, **origin);
  if (!restorer.restore()) {
    restorer.keep_the_tree(
        concat("what ", kOriginFolder, " holds is not of this tree, or files were added since: names and statistics are the tree's own"));
  }
  RestoredContent content = restorer.take();
  return std::make_unique<RestoredDump>(std::move(tree), *std::move(origin), std::move(content));
}

}  // namespace tensortap
