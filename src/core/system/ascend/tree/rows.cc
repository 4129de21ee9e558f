#include "system/ascend/tree/rows.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"
#include "format/dump_data/overflow_block.h"
#include "system/ascend/statistics.h"
#include "system/ascend/tree/file_names.h"
#include "system/ascend/tree/grammar.h"

namespace tensortap::ascend {
namespace {

constexpr size_t kFirstBytes = 4096;
constexpr uint64_t kLargestTable = uint64_t{64} << 20;
constexpr size_t kLongestMessage = 300;

// One execution of an op, as its files describe it.
struct OpRun {
  uint32_t file = 0;  // in the tree
  FileName name;      // views into the tree
  uint64_t time = 0;
  DumpDataFile content;  // of the file with tensors
  std::vector<StatisticLine> statistics;
};

Result<DumpDataFile> read_head(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY | O_NONBLOCK));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode)) return corrupt("not a file");
  const auto size = static_cast<uint64_t>(info.st_size);
  std::byte first[kFirstBytes];
  const std::span<std::byte> head(first, static_cast<size_t>(std::min<uint64_t>(size, kFirstBytes)));
  TENSORTAP_RETURN_IF_ERROR(file.read_at(0, head));
  const std::span<const std::byte> there = head;
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t needed, dump_data_head_bytes(first_of(there, 16), size));
  if (needed <= head.size()) return parse_dump_data(first_of(there, needed), size);
  // A map takes no memory, however large the message is by the file's own account.
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::open(path));
  return parse_dump_data(map.bytes(), map.bytes().size());
}

// The first line of the system's message about a failure: tables of arguments and registers may follow.
std::string first_line(const std::string& message) { return message.substr(0, std::min(message.find('\n'), kLongestMessage)); }

class RowsReader {
 public:
  explicit RowsReader(const Tree& tree, TreeProblems& problems) : tree_(tree), problems_(problems) {}

  TreeRows read() {
    for (uint32_t i = 0; i < tree_.files.size(); ++i) read_file_of(i);
    std::ranges::stable_sort(runs_, [&](const OpRun& a, const OpRun& b) { return key_of(a) < key_of(b); });
    uint64_t first_time = UINT64_MAX;
    for (const OpRun& run : runs_) first_time = std::min(first_time, run.time);
    for (const OpRun& run : runs_) read_overflow(run);
    for (const OpRun& run : runs_) add_run(run, first_time);
    finish_ops(rows_);
    return std::move(rows_);
  }

 private:
  // Dumps in the order in which they were requested, then by step, then by time. For failed ops only some files contain the time, and all
  // have their date in the name.
  std::tuple<std::string_view, int64_t, uint64_t> key_of(const OpRun& run) const {
    const TreeFolder& folder = folder_of(run.file);
    return {folder.dump, folder.step, run.name.exception ? run.name.time : run.time};
  }
  const TreeFolder& folder_of(uint32_t file) const { return tree_.folders[tree_.files[file].folder]; }
  std::string path_of(uint32_t file) const { return join_path(folder_of(file).path, tree_.files[file].stored); }
  std::string shown(uint32_t file) const { return relative_to_tree(folder_of(file), tree_.files[file].stored); }

  // The execution that a file belongs to: its tensors and its statistics lie in two files.
  OpRun& run_of(uint32_t file, const FileName& name, std::string_view stem) {
    const auto [found, is_new] = by_stem_.try_emplace({tree_.files[file].folder, stem}, runs_.size());
    if (!is_new) return runs_[found->second];
    OpRun run;
    run.file = file;
    run.name = name;
    run.time = name.time;
    runs_.push_back(std::move(run));
    return runs_.back();
  }

  void read_file_of(uint32_t i) {
    const TreeFile& file = tree_.files[i];
    std::string_view stem = file.name;
    std::optional<FileName> name = parse_file_name(file.name);
    if (!name) {
      // A number without a known name.
      name.emplace();
      name->type = "Unknown";
      name->name = file.stored;
    }
    if (name->statistic) {
      stem.remove_suffix(kStatisticSuffix.size());
      read_table(i, *name, stem);
      return;
    }
    Result<DumpDataFile> content = read_head(path_of(i));
    if (!content.ok()) {
      problems_.add(Skipped::kTensorFile, concat(shown(i), ": ", content.status().message()));
      return;
    }
    if (content->left_over > 0)
      problems_.add(Skipped::kTensorFile, concat(shown(i), ": ", content->left_over, " bytes behind the last tensor are passed over"));
    if (!content->message.empty()) problems_.add(Skipped::kTensorFile, concat(shown(i), ": ", first_line(content->message)));
    OpRun& run = run_of(i, *name, stem);
    run.file = i;
    if (content->time_us != 0) run.time = content->time_us;
    run.content = *std::move(content);
  }

  void read_table(uint32_t i, const FileName& name, std::string_view stem) {
    const Result<std::string> text = read_file(path_of(i), kLargestTable);
    if (!text.ok()) {
      problems_.add(Skipped::kStatistics, text.status().message());
      return;
    }
    std::vector<StatisticLine> lines = read_statistic_table(*text, shown(i), problems_);
    if (!lines.empty()) run_of(i, name, stem).statistics = std::move(lines);
  }

  // Reads from an overflow file which ops of its folder it reports.
  void read_overflow(const OpRun& run) {
    if (run.name.type != kOverflowType || run.content.outputs.empty()) return;
    const DumpDataTensor& block = run.content.outputs[0];
    std::array<std::byte, kOverflowBlockBytes> bytes{};
    const Result<File> file = File::open(path_of(run.file), O_RDONLY | O_NONBLOCK);
    if (block.absent || block.size != bytes.size() || !file.ok() || !file->read_at(block.payload_at, bytes).ok()) return;
    const Result<Json> description = overflow_block_json(bytes);
    if (!description.ok()) return problems_.add(Skipped::kTensorFile, concat(shown(run.file), ": ", description.status().message()));
    for (const OverflowBlock& one : overflows_in(*description)) overflows_.emplace(tree_.files[run.file].folder, one.task, one.stream);
  }
  bool overflowed(const OpRun& run) const { return overflows_.contains({tree_.files[run.file].folder, run.name.task, run.name.stream}); }

  OpId op_of_run(const OpRun& run) {
    const TreeFolder& folder = folder_of(run.file);
    const std::string full_name = run.content.op_name.empty() ? std::string(run.name.name) : run.content.op_name;
    const auto [found, is_new] =
        ops_.try_emplace({folder.model, std::string(run.name.type), full_name}, static_cast<OpId>(rows_.ops.size()));
    if (!is_new) return found->second;
    OpInfo op;
    op.name = full_name;
    op.type = run.name.type == kDataType    ? std::string(kInputType)
              : run.name.type == kConstType ? std::string(kInitializerType)
                                            : std::string(run.name.type);
    op.graph = folder.model;
    op.single = !is_in_model(folder);
    rows_.ops.push_back(std::move(op));
    rows_.op_files.push_back(concat(run.name.type, ".", full_name));
    return found->second;
  }

  RecordRow row_for(const OpRun& run, OpId op, bool is_input, uint32_t slot, uint64_t first_time) const {
    const TreeFolder& folder = folder_of(run.file);
    RecordRow row = tree_row(folder, op, is_input ? SlotKind::kInput : SlotKind::kOutput, slot, run.time - first_time);
    row.run = static_cast<uint64_t>(std::distance(times_.begin(), times_.find(folder.dump)));
    row.thread = static_cast<uint32_t>(std::min<uint64_t>(run.name.stream, UINT32_MAX));
    if (run.name.exception) row.flags |= kRecordFailedOp;
    if (run.name.type == kConstType) row.phase = static_cast<uint8_t>(Phase::kLoad);
    return row;
  }

  void add_row(const OpRun& run, const RecordRow& row) {
    const bool is_output = row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput);
    if (is_output && run.name.type != kOverflowType && overflowed(run))
      rows_.overflowed.push_back(static_cast<uint32_t>(rows_.rows.size()));
    rows_.add(row, tree_.files[run.file].folder, run.file);
  }

  // Which execution of its op in its step this is. Two files may report one: its inputs and its outputs.
  uint32_t call_of(const OpRun& run, OpId op) {
    const TreeFolder& folder = folder_of(run.file);
    auto& [call, inputs, outputs, begun] = executions_[{op, folder.step, folder.rank}];
    bool has_inputs = !run.content.inputs.empty();
    bool has_outputs = !run.content.outputs.empty();
    for (const StatisticLine& line : run.statistics) (line.is_input ? has_inputs : has_outputs) = true;
    const bool again = begun && ((has_inputs && (inputs || outputs)) || (has_outputs && outputs));
    if (again) {
      ++call;
      inputs = outputs = false;
    }
    begun = true;
    inputs = inputs || has_inputs;
    outputs = outputs || has_outputs;
    return call;
  }

  void add_tensors(const OpRun& run, OpId op, uint32_t call, bool is_input, uint64_t first_time) {
    const auto& tensors = is_input ? run.content.inputs : run.content.outputs;
    for (uint32_t slot = 0; slot < std::min<size_t>(tensors.size(), UINT16_MAX); ++slot) {
      const DumpDataTensor& tensor = tensors[slot];
      // Stands for a slot that was not kept.
      if (tensor.type == 0 && tensor.size == 0) continue;
      const Result<TensorDesc> desc = dump_data_desc(tensor);
      RecordRow row = row_for(run, op, is_input, slot, first_time);
      row.call = call;
      if (!desc.ok()) {
        problems_.add(Skipped::kTensorFile,
                      concat(shown(run.file), ": ", is_input ? "input " : "output ", slot, ": ", desc.status().message()));
        continue;
      }
      row.set_desc(*desc);
      row.data_offset = tensor.payload_at;
      row.data_bytes = row.bytes;
      row.flags |= tensor.absent ? kRecordDataLost : kRecordHasData;
      for (const StatisticLine& line : run.statistics) {
        if (line.is_input == is_input && line.slot == slot) row.stats = line.stats;
      }
      if (!is_input && !tensor.origin.name.empty()) add_original(op, tensor.origin.name);
      add_row(run, row);
    }
  }

  void add_statistics(const OpRun& run, OpId op, uint32_t call, uint64_t first_time) {
    for (const StatisticLine& line : run.statistics) {
      const auto& tensors = line.is_input ? run.content.inputs : run.content.outputs;
      if (line.slot < tensors.size() && !(tensors[line.slot].type == 0 && tensors[line.slot].size == 0)) continue;
      RecordRow row = row_for(run, op, line.is_input, line.slot, first_time);
      row.call = call;
      row.set_desc(line.desc);
      if (line.desc.dtype == DType::kUndefined) row.bytes = line.bytes;
      row.stats = line.stats;
      add_row(run, row);
    }
  }

  void add_original(OpId op, const std::string& name) {
    std::vector<OriginalNode>& originals = rows_.ops[op].originals;
    const auto same = [&name](const OriginalNode& node) { return node.name == name; };
    if (name != rows_.ops[op].name && std::ranges::none_of(originals, same)) originals.push_back({name, ""});
  }

  void add_run(const OpRun& run, uint64_t first_time) {
    if (times_.empty()) {
      for (const TreeFolder& folder : tree_.folders) times_.insert(folder.dump);
    }
    const OpId op = op_of_run(run);
    const uint32_t call = call_of(run, op);
    add_tensors(run, op, call, true, first_time);
    add_tensors(run, op, call, false, first_time);
    add_statistics(run, op, call, first_time);
  }

  struct Execution {
    uint32_t call = 0;
    bool inputs = false;
    bool outputs = false;
    bool begun = false;
  };

  const Tree& tree_;
  TreeProblems& problems_;
  TreeRows rows_;
  std::vector<OpRun> runs_;
  std::map<std::pair<uint32_t, std::string_view>, size_t> by_stem_;
  std::map<std::tuple<std::string, std::string, std::string>, OpId> ops_;
  std::map<std::tuple<OpId, int64_t, int32_t>, Execution> executions_;
  std::set<std::string> times_;
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> overflows_;  // folder, task and stream
};

}  // namespace

TreeRows read_rows(const Tree& tree, TreeProblems& problems) { return RowsReader(tree, problems).read(); }

}  // namespace tensortap::ascend
