#include "system/torchair/tree/rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "system/torchair/tree/file_name.h"
#include "tree/npy_heads.h"

namespace tensortap::torchair {
namespace {

// A record to be, small enough to sort.
struct Item {
  int64_t step = 0;
  int32_t rank = 0;
  uint32_t folder = 0;
  uint32_t file = kNoFile;
  FileName name;

  // Files of one execution share their time.
  [[nodiscard]] auto order() const {
    return std::tuple(step, name.time_us, rank, folder, name.node, name.target, !name.is_input, name.slot, name.element, file);
  }
};

OpInfo op_of_file(const TreeFolder& folder, const FileName& name) {
  const Target target = parse_target(name.target);
  OpInfo op;
  op.name = name.node;
  // As the PyTorch source names types: those of aten by themselves.
  op.type = target.library.empty() || target.library == "aten" ? std::string(target.name) : concat(target.library, ".", target.name);
  op.domain = target.library;
  op.graph = folder.model;
  if (!target.overload.empty()) op.attributes = to_json_text(Json{{"overload", std::string(target.overload)}});
  return op;
}

class RowMaker {
 public:
  RowMaker(const Tree& tree, TreeProblems& problems) : tree_(tree), problems_(problems), heads_(read_heads(tree)) {}

  TreeRows make() {
    for (uint32_t file = 0; file < tree_.files.size(); ++file) add_file(file);
    tell_no_tensors();
    std::ranges::sort(items_, {}, &Item::order);
    number_runs();
    for (const Item& item : items_) result_.add(row_of(item), item.folder, item.file);
    finish_ops(result_);
    return std::move(result_);
  }

 private:
  std::string path_of(uint32_t file) const { return relative_to_tree(tree_.folders[tree_.files[file].folder], tree_.files[file].stored); }

  void add_file(uint32_t file) {
    const auto name = parse_file_name(tree_.files[file].name);
    if (!name) return;
    if (heads_[file].unsupported) {
      if (no_tensors_++ == 0) first_no_tensor_ = path_of(file);
      return;
    }
    if (!heads_[file].damage.empty()) {
      problems_.add(Skipped::kTensorFile, concat(path_of(file), ": ", heads_[file].damage));
      return;
    }
    const TreeFolder& folder = tree_.folders[tree_.files[file].folder];
    items_.push_back({folder.step, folder.rank, tree_.files[file].folder, file, *name});
  }

  OpId op_of(const Item& item) {
    const TreeFolder& folder = tree_.folders[item.folder];
    const auto [op, is_new] = ops_.try_emplace({folder.model, item.name.node, item.name.target}, static_cast<OpId>(result_.ops.size()));
    if (is_new) result_.ops.push_back(op_of_file(folder, item.name));
    return op->second;
  }

  void tell_no_tensors() {
    if (no_tensors_ == 0) return;
    problems_.add(Skipped::kForeign, concat(no_tensors_, no_tensors_ == 1 ? " file holds" : " files hold",
                                            " no tensor but None or text, left out: ", first_no_tensor_));
  }

  void number_runs() {
    first_time_us_ = std::numeric_limits<int64_t>::max();
    for (const Item& item : items_) {
      runs_.emplace(item.rank, 0);
      first_time_us_ = std::min(first_time_us_, item.name.time_us);
    }
    uint64_t next = 0;
    for (auto& [rank, run] : runs_) run = next++;
  }

  // How often the node had run before in its step.
  uint32_t call_of(const Item& item, OpId op) {
    const auto [call, is_new] = calls_.try_emplace({op, item.rank}, Call{item.step, item.name.time_us, 0});
    Call& known = call->second;
    if (is_new) return 0;
    if (known.step != item.step) {
      known = {item.step, item.name.time_us, 0};
    } else if (known.time_us != item.name.time_us) {
      known.time_us = item.name.time_us;
      ++known.number;
    }
    return known.number;
  }

  RecordRow row_of(const Item& item) {
    const OpId op = op_of(item);
    const SlotKind kind = item.name.is_input ? SlotKind::kInput : SlotKind::kOutput;
    const auto microseconds = static_cast<uint64_t>(item.name.time_us - first_time_us_);
    RecordRow row = tree_row(tree_.folders[item.folder], op, kind, item.name.slot, microseconds);
    row.run = runs_[item.rank];
    row.call = call_of(item, op);
    row.element = item.name.element;
    set_data(item, row);
    return row;
  }

  void set_data(const Item& item, RecordRow& row) {
    const NpyHead& head = heads_[item.file].head;
    row.set_desc(head.desc);
    if (head.short_of) {
      row.flags |= kRecordDataLost;
      problems_.add(Skipped::kTensorFile, concat(path_of(item.file), ": cut short: ", head.file_bytes - head.data_begin, " of ",
                                                 head.data_bytes, " bytes of elements exist"));
      return;
    }
    row.flags |= kRecordHasData;
    row.data_offset = head.data_begin;
    row.data_bytes = head.data_bytes;
  }

  struct Call {
    int64_t step = 0;
    int64_t time_us = 0;
    uint32_t number = 0;
  };
  const Tree& tree_;
  TreeProblems& problems_;
  std::vector<FileHead> heads_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, OpId> ops_;  // by graph, node and target; of the tree
  std::vector<Item> items_;
  std::map<std::pair<OpId, int32_t>, Call> calls_;
  std::map<int32_t, uint64_t> runs_;
  size_t no_tensors_ = 0;
  std::string first_no_tensor_;
  int64_t first_time_us_ = 0;
  TreeRows result_;
};

}  // namespace

TreeRows read_rows(const Tree& tree, TreeProblems& problems) { return RowMaker(tree, problems).make(); }

}  // namespace tensortap::torchair
