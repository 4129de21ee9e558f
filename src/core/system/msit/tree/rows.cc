#include "system/msit/tree/rows.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "base/files.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/msit_bin/msit_bin_file.h"
#include "system/msit/tree/grammar.h"
#include "system/msit/tree/operations.h"
#include "system/msit/tree/statistic_lines.h"
#include "system/msit/tree/tree_names.h"

namespace tensortap::msit {
namespace {

// Whether another file was appended to this one, as happens when a user dumps twice to the same place.
bool was_appended(const File& file, const MsitBinFile& head) {
  std::array<std::byte, 16> next{};
  if (head.left_over < next.size() || !file.read_at(head.object_end, next).ok()) return false;
  return begins_msit_bin(next);
}

Result<MsitBinFile> read_head(const std::string& path, bool& appended) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY | O_NONBLOCK));
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, file.size());
  std::array<std::byte, kMsitBinHead> bytes;
  const std::span<std::byte> first = first_of(std::span<std::byte>(bytes), size);
  TENSORTAP_RETURN_IF_ERROR(file.read_at(0, first));
  Result<MsitBinFile> head = parse_msit_bin(first, size);
  if (!head.ok() && size > first.size()) {
    // A long header. A map takes no memory, however long it is.
    TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::map(file));
    head = parse_msit_bin(map.bytes(), map.bytes().size());
  }
  if (head.ok()) appended = was_appended(file, *head);
  return head;
}

// A record to be, small enough to sort.
struct Item {
  uint32_t file = kNoFile;  // of a line of a table alone
  uint32_t folder = 0;
  OpId op = kNoOp;
  bool is_late = false;  // of after the operation ran, and so behind those of its children
  uint32_t head = 0;     // of those that were read
  TensorName name;
};

class RowMaker {
 public:
  RowMaker(const Tree& tree, TreeProblems& problems)
      : tree_(tree),
        problems_(problems),
        lines_(read_statistic_lines(tree, problems)),
        operations_(read_operations(tree, lines_, problems)) {}

  TreeRows make() {
    for (uint32_t file = 0; file < tree_.files.size(); ++file) add_file(file);
    add_lines();
    std::ranges::sort(items_, [this](const Item& a, const Item& b) { return is_before_in_time(a, b); });
    result_.ops = std::move(operations_.ops);
    result_.op_files = std::move(operations_.paths);
    number_runs();
    for (const Item& item : items_) result_.add(row_of(item), item.folder, item.file);
    finish_ops(result_);
    name_inputs();
    return std::move(result_);
  }

 private:
  std::string path_of(uint32_t file) const { return relative_to_tree(tree_.folders[tree_.files[file].folder], tree_.files[file].stored); }

  void add_file(uint32_t file) {
    const TreeFile& entry = tree_.files[file];
    const TreeFolder& folder = tree_.folders[entry.folder];
    const auto name = parse_tensor_name(entry.name);
    const OpId op = operations_.of_folders[entry.folder];
    if (!name || op == kNoOp) return;
    bool appended = false;
    Result<MsitBinFile> head = read_head(join_path(folder.path, entry.stored), appended);
    if (!head.ok()) {
      problems_.add(Skipped::kTensorFile, concat(path_of(file), ": ", head.status().message()));
      return;
    }
    if (appended) {
      problems_.add(Skipped::kDoubt,
                    concat(path_of(file), ": another tensor was appended to this one by a second dump; the first is read"));
    }
    items_.push_back({file, entry.folder, op, !is_before(folder), static_cast<uint32_t>(heads_.size()), *name});
    heads_.push_back(*std::move(head));
  }

  // What a table says of a tensor that has a file belongs to that.
  void add_lines() {
    using Place = std::tuple<OpId, int64_t, bool, uint16_t>;
    std::map<Place, uint32_t> heads;
    const auto place_of = [this](OpId op, uint32_t folder, bool is_input, uint16_t slot) {
      return Place(op, tree_.folders[folder].step, is_input, slot);
    };
    if (lines_.empty()) return;
    for (const Item& item : items_) {
      if (item.name.call == 0) heads.emplace(place_of(item.op, item.folder, item.name.is_input, item.name.slot), item.head);
    }
    for (size_t i = 0; i < lines_.size(); ++i) {
      const StatisticLine& line = lines_[i];
      const OpId op = operations_.of_lines[i];
      const auto [found, is_new] = heads.emplace(place_of(op, line.folder, line.is_input, line.slot), heads_.size());
      if (is_new) {
        items_.push_back({kNoFile, line.folder, op, !line.is_input, found->second, {.is_input = line.is_input, .slot = line.slot}});
        MsitBinFile& head = heads_.emplace_back();
        head.desc = line.desc;
        head.format = line.format;
      }
      if (heads_[found->second].desc.dtype == line.desc.dtype) heads_[found->second].stats = line.stats;
    }
  }

  // An operation's inputs come before the tensors of its children, its outputs behind them.
  bool is_before_in_time(const Item& a, const Item& b) const {
    const TreeFolder& folder_a = tree_.folders[a.folder];
    const TreeFolder& folder_b = tree_.folders[b.folder];
    const auto order = std::tie(folder_a.dump, folder_a.step) <=> std::tie(folder_b.dump, folder_b.step);
    if (std::is_neq(order)) return std::is_lt(order);
    if (a.op != b.op) {
      const std::vector<uint32_t>& ids_a = operations_.ids[a.op];
      const std::vector<uint32_t>& ids_b = operations_.ids[b.op];
      const auto [end_a, end_b] = std::ranges::mismatch(ids_a, ids_b);
      if (end_a == ids_a.end() && end_b != ids_b.end()) return !a.is_late;
      if (end_b == ids_b.end() && end_a != ids_a.end()) return b.is_late;
      if (end_a != ids_a.end()) return *end_a < *end_b;
    }
    return std::tuple(a.is_late, a.op, !a.name.is_input, a.name.slot, a.name.call, a.file) <
           std::tuple(b.is_late, b.op, !b.name.is_input, b.name.slot, b.name.call, b.file);
  }

  void number_runs() {
    for (const Item& item : items_) runs_.emplace(run_key(item), 0);
    uint64_t next = 0;
    for (auto& [process, run] : runs_) run = next++;
  }
  std::pair<std::string_view, std::string_view> run_key(const Item& item) const {
    const TreeFolder& folder = tree_.folders[item.folder];
    return {folder.dump, folder.model};
  }

  RecordRow row_of(const Item& item) {
    const TreeFolder& folder = tree_.folders[item.folder];
    const MsitBinFile& head = heads_[item.head];
    RecordRow row = tree_row(folder, item.op, item.name.is_input ? SlotKind::kInput : SlotKind::kOutput, item.name.slot, 0);
    row.run = runs_[run_key(item)];
    row.call = item.name.call;
    row.moment = static_cast<uint8_t>(item.is_late ? Moment::kAfter : Moment::kBefore);
    row.set_desc(head.desc);
    row.stats = head.stats;
    if (head.format == kMsitFormatNc1hwc0) row.flags |= kRecordBlocked;
    const bool is_plain = head.format == kMsitFormatNc1hwc0 || head.format == kMsitFormatNd;
    if (!is_plain && head.format >= -1 && head.format <= UINT8_MAX - 2) row.element_order = static_cast<uint8_t>(head.format + 2);
    if (!head.has_data) return row;
    row.data_offset = head.data_begin;
    row.data_bytes = head.data_bytes;
    if (head.bytes_there == head.data_bytes) {
      row.flags |= kRecordHasData;
      return row;
    }
    row.flags |= kRecordDataLost;
    problems_.add(Skipped::kTensorFile,
                  concat(path_of(item.file), ": cut short: ", head.bytes_there, " of ", head.data_bytes, " bytes of elements exist"));
    return row;
  }

  // Newer runtimes put the parameter's name into the file's.
  void name_inputs() {
    for (const Item& item : items_) {
      OpInfo& op = result_.ops[item.op];
      if (item.name.is_input && !item.name.parameter.empty()) op.inputs[item.name.slot].name = item.name.parameter;
    }
  }

  const Tree& tree_;
  TreeProblems& problems_;
  const std::vector<StatisticLine> lines_;
  Operations operations_;
  std::vector<Item> items_;
  std::vector<MsitBinFile> heads_;
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> runs_;
  TreeRows result_;
};

}  // namespace

TreeRows read_rows(const Tree& tree, TreeProblems& problems) { return RowMaker(tree, problems).make(); }

}  // namespace tensortap::msit
