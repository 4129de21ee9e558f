#include "system/mindspore/tree/rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "format/dump_data/overflow_block.h"
#include "system/mindspore/names.h"
#include "system/mindspore/statistics.h"
#include "system/mindspore/tree/grammar.h"
#include "system/mindspore/tree/tree_ops.h"
#include "tree/npy_heads.h"

namespace tensortap::mindspore {
namespace {

constexpr uint32_t kNoLine = 0xffffffffU;

// A record to be, small enough to sort.
struct Item {
  int64_t step = 0;
  uint64_t time = 0;
  OpId op = kNoOp;
  int32_t rank = 0;
  uint32_t file = kNoFile;
  uint32_t line = kNoLine;  // in all lines of all tables
  uint32_t folder = 0;
  uint16_t slot = 0;
  bool is_input = false;
  bool comes_first = false;  // of its step: inputs of the graph exist before the step, whenever they were written
};

// A record's name within its folder.
std::string key_of(std::string_view type, std::string_view name, uint64_t time, bool is_input, uint32_t slot) {
  return concat(type, ".", name, ".", time, is_input ? ".i." : ".o.", slot);
}

class RowMaker {
 public:
  RowMaker(const Tree& tree, TreeProblems& problems) : tree_(tree), problems_(problems), ops_(problems) {}

  TreeRows make() {
    heads_ = read_heads(tree_);
    fields_.reserve(tree_.files.size());
    for (const TreeFolder& folder : tree_.folders) graphs_.push_back(ops_.graph_of(folder));
    size_t begin = 0;
    for (uint32_t folder = 0; folder < tree_.folders.size(); ++folder) {
      size_t end = begin;
      while (end < tree_.files.size() && tree_.files[end].folder == folder) ++end;
      add_folder(folder, begin, end);
      begin = end;
    }
    result_.op_files = ops_.stems();
    result_.ops = ops_.take();
    sort();
    make_rows();
    return std::move(result_);
  }

 private:
  std::string path_of(uint32_t file) const { return relative_to_tree(tree_.folders[tree_.files[file].folder], tree_.files[file].stored); }

  void add_folder(uint32_t folder, size_t begin, size_t end) {
    const size_t first = items_.size();
    for (size_t i = begin; i < end; ++i) {
      const TensorFileName& fields = fields_.emplace_back(*parse_tensor_file_name(tree_.files[i].name));
      Item item = item_for(folder, fields.type, fields.name, {});
      item.time = fields.time;
      item.slot = static_cast<uint16_t>(fields.slot);
      item.is_input = fields.is_input;
      item.file = static_cast<uint32_t>(i);
      items_.push_back(item);
    }
    if (!tree_.folders[folder].statistics.empty()) add_statistics(folder, first);
    for (const std::string_view name : tree_.folders[folder].companions) {
      if (is_overflow_name(name)) {
        add_overflows(folder, name);
      } else {
        add_arguments(folder, name);
      }
    }
    // A file that cannot be read is a record only if it has statistics.
    const auto lost = [&](const Item& item) {
      if (item.file == kNoFile || heads_[item.file].damage.empty()) return false;
      problems_.add(Skipped::kTensorFile, concat(path_of(item.file), ": ", heads_[item.file].damage));
      return item.line == kNoLine;
    };
    items_.erase(std::remove_if(items_.begin() + static_cast<ptrdiff_t>(first), items_.end(), lost), items_.end());
    for (size_t i = first; i < items_.size(); ++i) {
      if (!items_[i].is_input) ops_.saw_output(items_[i].op, items_[i].slot);
    }
  }

  // "TYPE.NAME.json": the op's attributes, each as text.
  void add_arguments(uint32_t folder, std::string_view name) {
    constexpr uint64_t kLargest = uint64_t{16} << 20;
    const auto text = read_file(join_path(tree_.folders[folder].path, name), kLargest);
    const auto json = text.ok() ? parse_json(*text, name) : text.status();
    const std::string_view stem = name.substr(0, name.rfind('.'));
    const std::string where = relative_to_tree(tree_.folders[folder], name);
    if (!json.ok()) {
      problems_.add(Skipped::kForeign, json.status().with_context(where).message());
    } else if (!json->is_object() && !json->is_null()) {
      problems_.add(Skipped::kForeign, concat(where, ": no attributes of an op: not a JSON object"));
    } else if (!ops_.set_attributes(graphs_[folder], stem, json->is_null() ? "" : to_json_text(*json))) {
      problems_.add(Skipped::kForeign, concat(where, ": the dump has no op of this name"));
    }
  }

  // "Opdebug.….json": which ops of the folder overflowed.
  void add_overflows(uint32_t folder, std::string_view name) {
    constexpr uint64_t kLargest = uint64_t{1} << 20;
    const auto text = read_file(join_path(tree_.folders[folder].path, name), kLargest);
    const auto json = text.ok() ? parse_json(*text, name) : text.status();
    const std::vector<OverflowBlock> overflows = json.ok() ? overflows_in(*json) : std::vector<OverflowBlock>();
    if (overflows.empty()) {
      const std::string why = json.ok() ? "it names no op that overflowed" : json.status().message();
      problems_.add(Skipped::kForeign, concat(relative_to_tree(tree_.folders[folder], name), ": ", why));
    }
    for (const OverflowBlock& one : overflows) overflows_.emplace(folder, to_text(one.task), to_text(one.stream));
  }

  Item item_for(uint32_t folder, std::string_view type, std::string_view name, std::string_view full_name) {
    Item item;
    item.folder = folder;
    item.step = tree_.folders[folder].step;
    item.rank = tree_.folders[folder].rank;
    item.op = ops_.op(graphs_[folder], type, name, full_name);
    return item;
  }

  void add_statistics(uint32_t folder, size_t first) {
    const std::string name = relative_to_tree(tree_.folders[folder], kStatisticFile);
    auto table = MappedFile::open_settled(join_path(tree_.folders[folder].path, kStatisticFile));
    if (!table.ok()) return problems_.add(Skipped::kStatistics, table.status().message());
    std::unordered_map<std::string, size_t> known;
    for (size_t i = first; i < items_.size(); ++i) {
      const TensorFileName& fields = fields_[items_[i].file];
      known.emplace(key_of(fields.type, fields.name, fields.time, fields.is_input, fields.slot), i);
    }
    for (StatisticLine& line : read_statistic_table(table->text(), name, problems_)) add_line(folder, name, line, known);
    tables_.push_back(*std::move(table));
  }

  void add_line(uint32_t folder, const std::string& table, StatisticLine& line, std::unordered_map<std::string, size_t>& known) {
    const auto number = static_cast<uint32_t>(lines_.size());
    std::string name(line.op_name);
    for (std::string& form : std::vector<std::string>{name, clean_name(name), strip_scope(name), dash_scope(name)}) {
      const auto found = known.find(key_of(line.op_type, form, line.time, line.is_input, line.slot));
      if (found == known.end()) continue;
      Item& item = items_[found->second];
      if (item.line != kNoLine) {
        problems_.add(Skipped::kStatistics, concat(table, ": a second row for ", quote(form), " at ", line.time, " is skipped"));
        return;
      }
      item.line = number;
      lines_.push_back(line);
      return;
    }
    // The name in the form of files, so that a statistics row and a tensor of another step belong to one op.
    if (name.find('/') != std::string::npos && !ops_.knows(graphs_[folder], concat(line.op_type, ".", name))) name = clean_name(name);
    Item item = item_for(folder, line.op_type, name, line.op_name);
    item.time = line.time;
    item.slot = static_cast<uint16_t>(line.slot);
    item.is_input = line.is_input;
    item.line = number;
    lines_.push_back(line);
    known.emplace(key_of(line.op_type, name, line.time, line.is_input, line.slot), items_.size());
    items_.push_back(item);
  }

  void sort() {
    for (Item& item : items_) {
      item.comes_first = result_.ops[item.op].type == kInputType || is_constants(tree_.folders[item.folder]);
    }
    std::ranges::sort(items_, [](const Item& a, const Item& b) {
      return std::tuple(a.step, !a.comes_first, a.time, a.rank, a.op, !a.is_input, a.slot, a.file) <
             std::tuple(b.step, !b.comes_first, b.time, b.rank, b.op, !b.is_input, b.slot, b.file);
    });
  }

  // Rows of statistics alone do not contain their task.
  [[nodiscard]] bool overflowed(const Item& item) const {
    if (item.is_input || item.file == kNoFile || overflows_.empty()) return false;
    const TensorFileName& fields = fields_[item.file];
    return overflows_.contains({item.folder, std::string(fields.task), std::string(fields.stream)});
  }

  void make_rows();
  RecordRow make_row(const Item& item);
  void set_data(const Item& item, RecordRow& row);
  void set_statistics(const StatisticLine& line, RecordRow& row) const;

  // How often the op had run before in its step. A slot that was seen already means that it runs again.
  struct Call {
    int64_t step = -1;
    uint32_t call = 0;
    std::set<uint32_t> slots;
  };
  uint32_t call_of(const Item& item) {
    Call& call = calls_[{item.op, item.rank}];
    if (call.step != item.step) call = {item.step, 0, {}};
    const uint32_t slot = uint32_t{item.slot} << 1 | (item.is_input ? 1U : 0U);
    if (!call.slots.insert(slot).second) {
      ++call.call;
      call.slots = {slot};
    }
    return call.call;
  }

  const Tree& tree_;
  TreeProblems& problems_;
  TreeOps ops_;
  std::vector<FileHead> heads_;
  std::vector<TensorFileName> fields_;  // of the names of files
  std::vector<size_t> graphs_;          // by folder
  std::vector<Item> items_;
  std::vector<StatisticLine> lines_;
  std::vector<MappedFile> tables_;  // that the lines lead into
  std::map<std::pair<OpId, int32_t>, Call> calls_;
  std::map<int32_t, uint64_t> runs_;
  std::set<std::tuple<uint32_t, std::string, std::string>> overflows_;  // folder, task and stream
  uint64_t first_time_ = 0;
  TreeRows result_;
};

void RowMaker::make_rows() {
  first_time_ = std::numeric_limits<uint64_t>::max();
  for (const Item& item : items_) {
    first_time_ = std::min(first_time_, item.time);
    runs_.emplace(item.rank, 0);
  }
  uint64_t run = 0;
  for (auto& [rank, number] : runs_) number = run++;
  result_.rows.reserve(items_.size());
  for (const Item& item : items_) {
    if (overflowed(item)) result_.overflowed.push_back(static_cast<uint32_t>(result_.rows.size()));
    result_.add(make_row(item), item.folder, item.file != kNoFile && heads_[item.file].damage.empty() ? item.file : kNoFile);
  }
}

RecordRow RowMaker::make_row(const Item& item) {
  const TreeFolder& folder = tree_.folders[item.folder];
  RecordRow row = tree_row(folder, item.op, item.is_input ? SlotKind::kInput : SlotKind::kOutput, item.slot, item.time - first_time_);
  row.run = runs_[item.rank];
  row.call = call_of(item);
  row.phase = static_cast<uint8_t>(is_constants(folder) ? Phase::kLoad : Phase::kInference);
  if (item.line != kNoLine) set_statistics(lines_[item.line], row);
  if (item.file != kNoFile) set_data(item, row);
  return row;
}

void RowMaker::set_statistics(const StatisticLine& line, RecordRow& row) const {
  row.set_desc(line.desc);
  row.bytes = line.bytes;
  row.stats = line.stats;
  std::ranges::copy(line.digest, row.digest);
  row.digest_kind = line.digest_kind;
}

void RowMaker::set_data(const Item& item, RecordRow& row) {
  const FileHead& file = heads_[item.file];
  if (!file.damage.empty()) {
    row.flags |= kRecordDataLost;
    return;
  }
  TensorDesc desc = file.head.desc;
  const auto named = dtype_from_name(to_lower(fields_[item.file].dtype));
  if (named && *named != desc.dtype && file.head.plain && may_be(desc.dtype, *named)) desc.dtype = *named;
  row.set_desc(desc);
  if (file.head.short_of) {
    row.flags |= kRecordDataLost;
    problems_.add(Skipped::kTensorFile, concat(path_of(item.file), ": cut short: ", file.head.file_bytes - file.head.data_begin, " of ",
                                               file.head.data_bytes, " bytes of elements exist"));
    return;
  }
  row.flags |= kRecordHasData;
  if (dtype_info(desc.dtype).is_raw_in_numpy) row.flags |= kRecordRaw;
  row.data_offset = file.head.data_begin;
  row.data_bytes = file.head.data_bytes;
  if (file.head.left_over) {
    problems_.add(Skipped::kDoubt, concat(path_of(item.file), ": has ", file.head.file_bytes - file.head.data_begin - file.head.data_bytes,
                                          " bytes after its elements, which are not read"));
  }
}

}  // namespace

TreeRows read_rows(const Tree& tree, TreeProblems& problems) { return RowMaker(tree, problems).make(); }

}  // namespace tensortap::mindspore
