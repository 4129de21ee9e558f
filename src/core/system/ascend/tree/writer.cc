#include "system/ascend/tree/writer.h"

#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "system/ascend/tree/op_execution.h"
#include "system/ascend/tree/op_files.h"
#include "system/ascend/tree/options.h"
#include "tree/input_rows.h"
#include "tree/manifests.h"
#include "tree/named_folder.h"
#include "tree/noted_failures.h"
#include "tree/spool.h"

namespace tensortap::ascend {
namespace {

// Whether the tree can store such a record at all.
Status check_place(const RecordRow& row) {
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  if (kind != SlotKind::kInput && kind != SlotKind::kOutput) {
    return unsupported("AscendCL's tree can store inputs and outputs only");
  }
  const auto dtype = static_cast<DType>(row.dtype);
  if (!dump_data_holds(dtype)) return unsupported(concat("AscendCL's files have no element type ", dtype_name(dtype)));
  return {};
}

// The op after which this one represents a look at a tensor; "" = this is an ordinary op.
std::string watcher_of(const OpInfo& op) {
  return op.attributes.find(kWatcherOp) == std::string::npos ? std::string() : attribute_text(op, kWatcherOp);
}

bool is_load(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad); }

class Writer : public LayoutWriter, public FollowsDecisions, public FollowsSteps, public ReportsLosses, public NamesFiles {
 public:
  Writer(Options options, StatisticTable table)
      : options_(std::move(options)), files_(options_, std::move(table)), inputs_(options_.only_with_records), spool_(options_.root) {}

  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    own.steps = this;
    own.losses = this;
    own.file_names = this;
    own.numbers_ops = options_.scoped_names;
    return own;
  }
  Status add_op(OpId id, const OpInfo& op) override;
  void pass_over_ops(uint32_t count) override;
  void op_decided(OpId id, const OpDecision& decision) override;
  Status end_step(int64_t step, uint64_t run) override;
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return false; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) override;
  LostRecords take_lost() override;
  Status flush() override;
  [[nodiscard]] std::vector<std::string> file_names_of(OpId id) override;
  Status finish(std::string_view manifest) override;
  [[nodiscard]] uint64_t bytes_written() const override { return files_.bytes_written(); }

 private:
  using Payload = std::shared_ptr<const KeptBytes>;
  using Rows = InputRows<Payload>;
  using Lane = std::pair<uint64_t, uint32_t>;  // run and thread: executions of one come one after another

  std::string own_portable_name(const std::string& name);

  Execution& execution_for(OpId op, const RecordRow& row, const Lane& lane);
  Status finish_lane(const Lane& lane);
  void finish_run(uint64_t run);
  Status keep_data(Piece& piece);
  void add_inputs_before(const RecordRow& row, const Lane& lane);
  Status add_piece(RecordRow& row, const TensorView* data);
  Status add_own(Piece piece, bool is_input, const RecordRow& row, bool read_later, Payload& payload);
  bool is_complete(const Execution& execution) const;
  Op* find(OpId id) { return id < ops_.size() && ops_[id].known ? &ops_[id] : nullptr; }

  const Options options_;
  OpFiles files_;     // except for bytes_written(): guarded by mutex_
  std::mutex mutex_;  // all below
  std::vector<Op> ops_;
  uint64_t next_task_ = 0;
  ScopedNames scoped_names_;
  std::unordered_map<std::string, uint64_t> tasks_;    // by the op's name
  std::map<std::string, std::string> portable_names_;  // the op that each belongs to
  Rows inputs_;
  Spool spool_;
  std::map<Lane, Execution> lanes_;
  NotedFailures noted_{"files"};
  uint64_t lost_ = 0;  // records whose file could not be written
};

// Graphs with convolutions and pooling compute on images, and the real system labels their tensors so; in others, such as those of
// transformers, four dimensions are batch and heads.
bool is_of_images(std::string_view type) {
  const std::string lower = to_lower(type);
  return lower.find("conv") != std::string::npos || lower.find("pool") != std::string::npos;
}

Status Writer::add_op(OpId id, const OpInfo& info) {
  const std::lock_guard lock(mutex_);
  if (ops_.size() <= id) ops_.resize(size_t{id} + 1);
  Op& op = ops_[id];
  op.known = true;
  op.single = info.single;
  op.pseudo = is_pseudo_op(info);
  op.without_file = op.pseudo && (info.single || (info.type == kInitializerType && !options_.weights));
  const std::string_view type = info.type == kInputType         ? kDataType
                                : info.type == kInitializerType ? kConstType
                                                                : std::string_view(info.type);
  op.type = options_.portable_names ? portable_name(type) : clean_name(type);
  op.full_name = options_.scoped_names ? scoped_names_.add(info) : info.name;
  op.name = options_.portable_names ? own_portable_name(op.full_name) : clean_name(op.full_name);
  if (!info.originals.empty() && info.originals.front().name != op.full_name) op.original = info.originals.front().name;
  if (op.original.empty() && op.full_name != info.name) op.original = info.name;
  op.outputs = op.pseudo ? 1U : static_cast<uint32_t>(info.outputs.size());
  if (!op.pseudo) op.task = next_task_++;
  // A look at a tensor after an op ran has that op's place in the order.
  if (const auto watcher = tasks_.find(watcher_of(info)); watcher != tasks_.end()) op.task = watcher->second;
  tasks_.try_emplace(info.name, op.task);
  inputs_.add_op(id, info);
  if (is_of_images(info.type)) files_.has_images();
  return {};
}

// Names that differ only in replaced characters get a number: a table of statistics identifies its op by nothing else.
std::string Writer::own_portable_name(const std::string& name) {
  const std::string portable = portable_name(name);
  std::string own = portable;
  for (int number = 2; portable_names_.try_emplace(own, name).first->second != name; ++number) own = concat(portable, "_", number);
  return own;
}

void Writer::pass_over_ops(uint32_t count) {
  const std::lock_guard lock(mutex_);
  next_task_ += count;
  scoped_names_.pass_over(count);
}

void Writer::op_decided(OpId id, const OpDecision& decision) {
  const std::lock_guard lock(mutex_);
  inputs_.decide(id, decision);
  Op* op = find(id);
  if (op == nullptr) return;
  op->wants_inputs = decision.inputs;
  op->wants_outputs = decision.outputs;
  uint32_t wanted = 0;
  for (uint32_t slot = 0; slot < op->outputs; ++slot) wanted += decision.is_own_output(slot) ? 1 : 0;
  if (op->outputs > 0) op->outputs = std::max(wanted, 1U);
}

bool Writer::is_complete(const Execution& execution) const {
  const Op& op = ops_[execution.op];
  // The number of outputs is unknown for some sources, and for lists: those executions end with the next op of their thread.
  const bool counted = op.outputs > 0 && std::ranges::all_of(execution.outputs, [](const Piece& piece) { return piece.row.element < 0; });
  return !execution.failed && op.wants_outputs && counted && execution.outputs.size() >= op.outputs;
}

Status Writer::finish_lane(const Lane& lane) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return {};
  Execution execution = std::move(found->second);
  lanes_.erase(found);
  if (execution.empty()) return {};
  Status status;
  // The real system dumps the inputs of such an op before it runs, and its outputs afterwards.
  if (options_.scene != TreeScene::kOverflow && execution.changes_inputs()) {
    Execution before = execution;
    before.outputs.clear();
    execution.inputs.clear();
    status = files_.write(ops_[before.op], before, next_task_);
  }
  if (status.ok()) status = files_.write(ops_[execution.op], execution, next_task_);
  if (!status.ok()) lost_ += execution.own;
  return status;
}

void Writer::finish_run(uint64_t run) {
  while (true) {
    const auto found = lanes_.lower_bound({run, 0});
    if (found == lanes_.end() || found->first.first != run) return;
    noted_.note(finish_lane(Lane(found->first)));
  }
}

// The execution that a record belongs to; the one before it on its lane is written first.
Execution& Writer::execution_for(OpId op, const RecordRow& row, const Lane& lane) {
  const auto found = lanes_.find(lane);
  if (found != lanes_.end() && !found->second.is_of(op, row)) noted_.note(finish_lane(lane));
  Execution& execution = lanes_[lane];
  if (execution.op == kNoOp) {
    execution.op = op;
    execution.run = row.run;
    execution.step = row.step;
    execution.call = row.call;
    execution.thread = row.thread;
    execution.load = is_load(row);
    execution.failed = (row.flags & kRecordFailedOp) != 0;
  }
  return execution;
}

Status Writer::keep_data(Piece& piece) {
  if (piece.data == nullptr || piece.row.bytes == 0) return {};
  TENSORTAP_ASSIGN_OR_RETURN(piece.kept, spool_.keep({static_cast<const std::byte*>(piece.data), piece.row.bytes}));
  piece.data = nullptr;
  return {};
}

// Adds inputs whose values their producers reported, of this op and of those that were passed over.
void Writer::add_inputs_before(const RecordRow& row, const Lane& lane) {
  inputs_.before(row, [&](const Rows::Input& input) {
    RecordRow of_reader = row;
    of_reader.step = input.step;
    if (input.op != row.op) of_reader.flags &= static_cast<uint8_t>(~kRecordFailedOp);
    Execution& execution = execution_for(input.op, of_reader, lane);
    if (execution.has(true, input.slot)) return;
    execution.inputs.push_back({input.slot, input.source->row, nullptr, input.source->place});
  });
}

// Adds a piece to its op's execution, and writes the execution when it is whole. `payload` gets the bytes for later readers: a large output
// that ends its file is read from there, everything else is kept.
Status Writer::add_own(Piece piece, bool is_input, const RecordRow& row, bool read_later, Payload& payload) {
  const Lane lane{row.run, row.thread};
  // A slot that is reported again, after the op changed it, goes into a separate file.
  Execution* execution = &execution_for(row.op, row, lane);
  if (execution->has(is_input, row.file_slot())) {
    noted_.note(finish_lane(lane));
    execution = &execution_for(row.op, row, lane);
  }
  auto& pieces = is_input ? execution->inputs : execution->outputs;
  const bool stands_last = std::ranges::all_of(pieces, [&](const Piece& other) { return other.slot < row.file_slot(); });
  pieces.push_back(std::move(piece));
  ++execution->own;
  const bool complete = is_complete(*execution);
  const bool from_file =
      complete && stands_last && !is_input && !find(row.op)->without_file && row.bytes > kLargestInMemory && pieces.back().data != nullptr;
  if (!complete || (read_later && !from_file)) {
    if (Status status = keep_data(pieces.back()); !status.ok()) {
      pieces.pop_back();
      --execution->own;
      return status;
    }
    payload = pieces.back().kept;
  }
  if (!complete) return {};
  files_.forget_last();
  if (Status status = finish_lane(lane); !status.ok()) {
    // This record's failure is reported by itself.
    --lost_;
    return status;
  }
  if (const auto& last = files_.last(); read_later && from_file && !last.path.empty()) {
    payload = std::make_shared<const KeptBytes>(KeptBytes{{}, last.path, nullptr, last.offset, row.bytes});
  }
  return {};
}

Status Writer::add_piece(RecordRow& row, const TensorView* data) {
  const Op& op = *find(row.op);
  const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  const bool read_later = !is_input && inputs_.first_reader(row.op, row.slot_index).op != kNoOp;
  // A value that others read as a whole has one place only.
  if (row.element >= 0 && read_later) return unsupported("AscendCL's tree cannot store sequences");
  const bool own = (row.flags & kRecordForReaders) == 0 && (is_input || op.wants_outputs || !read_later);
  Piece piece{row.file_slot(), row, options_.tensors && data != nullptr ? data->data : nullptr, nullptr};
  std::unique_ptr<std::byte[]> reordered;
  if (piece.data != nullptr && row.dtype == static_cast<uint8_t>(DType::kUInt1) && row.bytes > 0) {
    reordered.reset(new std::byte[row.bytes]);
    std::memcpy(reordered.get(), piece.data, row.bytes);
    reorder_dump_data_bits(DType::kUInt1, {reordered.get(), row.bytes});
    piece.data = reordered.get();
  }
  const bool has_data = piece.data != nullptr || (options_.tensors && row.bytes == 0 && data != nullptr);
  if (!own) TENSORTAP_RETURN_IF_ERROR(keep_data(piece));
  Payload payload = piece.kept;
  if (own) TENSORTAP_RETURN_IF_ERROR(add_own(std::move(piece), is_input, row, read_later, payload));
  if (Rows::Source* source = is_input ? nullptr : inputs_.remember(row)) source->place = std::move(payload);
  if (has_data) {
    row.flags |= kRecordHasData;
    row.data_bytes = row.bytes;
  }
  row.committed = has_data || options_.statistics ? 1 : 0;
  return {};
}

Status Writer::add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) {
  const std::lock_guard lock(mutex_);
  if (find(row.op) == nullptr) return unsupported("a record of an unknown op");
  TENSORTAP_RETURN_IF_ERROR(check_place(row));
  // Unwritten memory has no values to keep.
  if ((row.flags & kRecordUnwritten) != 0) return {};
  if (!is_load(row)) add_inputs_before(row, {row.run, row.thread});
  // Errors with files of other ops are reported at the end of the step.
  return add_piece(row, data);
}

Status Writer::end_step(int64_t step, uint64_t run) {
  const std::lock_guard lock(mutex_);
  RecordRow end;
  end.step = step;
  end.run = run;
  const auto last = lanes_.lower_bound({run, 0});
  const Lane lane = last != lanes_.end() && last->first.first == run ? last->first : Lane{run, 0};
  end.thread = lane.second;
  inputs_.end_step(step, run, [&](const Rows::Input& input) {
    end.step = input.step;
    Execution& execution = execution_for(input.op, end, lane);
    if (!execution.has(true, input.slot)) execution.inputs.push_back({input.slot, input.source->row, nullptr, input.source->place});
  });
  finish_run(run);
  inputs_.forget(run, [](Rows::Source& source) { source.place.reset(); });
  files_.end_step();
  return noted_.take();
}

Status Writer::flush() {
  const std::lock_guard lock(mutex_);
  return noted_.take();
}

LostRecords Writer::take_lost() {
  const std::lock_guard lock(mutex_);
  return {std::exchange(lost_, 0), 0};
}

// Files of tensors hold the op's full name, those of statistics alone have nothing but their own.
std::vector<std::string> Writer::file_names_of(OpId id) {
  const std::lock_guard lock(mutex_);
  const Op* op = find(id);
  if (op == nullptr || op->without_file) return {};
  return {concat(op->type, ".", op->full_name), concat(op->type, ".", op->name)};
}

Status Writer::finish(std::string_view manifest) {
  const std::lock_guard lock(mutex_);
  while (!lanes_.empty()) noted_.note(finish_lane(Lane(lanes_.begin()->first)));
  inputs_.forget_all([](Rows::Source& source) { source.place.reset(); });
  inputs_.each_loaded([](Rows::Source& source) { source.place.reset(); });
  // A watch for failures that saw none leaves nothing.
  if (options_.scene != TreeScene::kException || files_.has_written() || !options_.failure.empty()) {
    const auto folder = NamedFolder::create(*options_.root, options_.manifest.folder, {.access = options_.access});
    noted_.note(folder.ok() ? (*folder)->replace(options_.manifest.file, manifest) : folder.status());
    const FolderRules rules{.access = options_.access, .read_only = true};
    noted_.note(options_.request.write(options_.tree, *options_.root, files_.last_step(), rules));
  }
  files_.close();
  return noted_.take();
}

}  // namespace

Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec) {
  TENSORTAP_ASSIGN_OR_RETURN(Options options, writer_options(info, spec));
  TENSORTAP_ASSIGN_OR_RETURN(StatisticTable table, chosen_statistics(spec));
  return std::unique_ptr<LayoutWriter>(new Writer(std::move(options), std::move(table)));
}

}  // namespace tensortap::ascend
