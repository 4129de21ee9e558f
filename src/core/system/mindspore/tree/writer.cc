#include "system/mindspore/tree/writer.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "layout/dump_room.h"
#include "system/mindspore/statistics.h"
#include "system/mindspore/tree/metadata_files.h"
#include "system/mindspore/tree/npy_tensor.h"
#include "system/mindspore/tree/writer_companions.h"
#include "system/mindspore/tree/writer_execution.h"
#include "system/mindspore/tree/writer_folder.h"
#include "system/mindspore/tree/writer_ops.h"
#include "system/mindspore/tree/writer_options.h"
#include "system/mindspore/tree/writer_place.h"
#include "tensor/memory_order.h"
#include "tree/input_rows.h"
#include "tree/noted_failures.h"

namespace tensortap::mindspore {
namespace {

constexpr int kImageRank = 4;

class Writer : public LayoutWriter, public FollowsDecisions, public FollowsSteps, public NamesFiles {
 public:
  Writer(WriterOptions options, StatisticTable table)
      : options_(std::move(options)),
        table_(std::move(table)),
        ops_(options_.profile, options_.extras.constants, options_.tree.has_value()),
        inputs_(options_.only_with_records),
        companions_(options_),
        room_(options_.max_bytes) {}

  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    own.steps = this;
    own.file_names = this;
    own.numbers_ops = true;
    own.wants_values = options_.statistics && table_.needs_values(options_.digest);
    return own;
  }
  Status add_op(OpId id, const OpInfo& op) override;
  void pass_over_ops(uint32_t count) override;
  void op_decided(OpId id, const OpDecision& decision) override;
  Status end_step(int64_t step, uint64_t run) override;
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return false; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) override;
  Status flush() override;
  [[nodiscard]] std::vector<std::string> file_names_of(OpId op) override;
  Status finish(std::string_view manifest) override;
  [[nodiscard]] uint64_t bytes_written() const override { return bytes_written_.load(std::memory_order_relaxed); }

 private:
  using Rows = InputRows<Place>;
  // One tensor about to be written.
  struct Piece {
    Op* op;
    bool is_input;
    uint32_t slot;
    uint64_t time_us;
    uint64_t stream = 0;
    NamedFolder::Stage stage = NamedFolder::Stage::kFinal;
  };

  uint64_t next_time();
  Piece piece_of(OpId op, int64_t step, bool is_input, uint32_t slot, const RecordRow& event);
  Status describe_overflow(const Piece& piece, IterationFolder& folder, const RecordRow& row);
  [[nodiscard]] Result<FolderPointer> make_folder(const std::string& below) const;
  Result<FolderPointer> folder_of(int64_t step);
  Result<FolderPointer> folder_of(const RecordRow& row);
  const std::string& name_of(const Piece& piece, const RecordRow& row);
  Status write_tensor(const Piece& piece, const FolderPointer& folder, const RecordRow& row, const TensorView& data, Place& place);
  Status add_statistic(const Piece& piece, IterationFolder& folder, const RecordRow& row, const StatisticDigests& digests);
  Status add_piece(const Piece& piece, RecordRow& row, const TensorView* data, bool with_statistic, Place& place);
  Status add_output(RecordRow& row, const TensorView* data);
  Status settle(const Piece& piece, int64_t step, Rows::Source& source);
  void begin_step(const RecordRow& row, Op& op);
  void end_parameters(int64_t step, uint64_t run);
  Status flush_folders();

  const WriterOptions options_;
  const StatisticTable table_;
  std::mutex mutex_;  // all below
  Ops ops_;
  Rows inputs_;
  Companions companions_;
  DumpRoom room_;
  std::map<int64_t, FolderPointer> folders_;  // of the steps that have not ended
  FolderPointer constants_;
  NpyTensorWriter npy_;
  Execution execution_;
  uint32_t last_thread_ = 0;
  uint64_t last_time_us_ = 0;
  std::string name_;
  std::string line_;
  NotedFailures noted_{"inputs, parameters or files beside them"};
  std::atomic<uint64_t> bytes_written_{0};
};

uint64_t Writer::next_time() {
  const uint64_t time_us = options_.time_us != 0 ? options_.time_us : wall_clock_us();
  return last_time_us_ = std::max(last_time_us_ + 1, time_us);
}

// A tensor's place among the files of its execution; `event` is the record that is being added.
Writer::Piece Writer::piece_of(OpId op, int64_t step, bool is_input, uint32_t slot, const RecordRow& event) {
  if (!options_.tree) return {ops_.find(op), is_input, slot, next_time()};
  const uint64_t time_us = execution_.time_of(op, step, is_input, slot, event, [this] { return next_time(); });
  return {ops_.find(op), is_input, slot, time_us, event.thread};
}

// Writes the file that reports an op with NaN or Inf in this output, once for each execution.
Status Writer::describe_overflow(const Piece& piece, IterationFolder& folder, const RecordRow& row) {
  const TensorStats& stats = row.stats;
  const bool finite = (stats.valid & kStatNonFinite) == kStatNonFinite && stats.nan + stats.pos_inf + stats.neg_inf == 0;
  if (!options_.overflow || finite || piece.op->parameter || !execution_.takes_overflow()) return {};
  OverflowRecord record;
  record.ai_core = {options_.model_number, piece.stream, piece.op->task, 0, 0, 0, 1};
  const std::string text = overflow_text(record);
  TENSORTAP_RETURN_IF_ERROR(room_.take(DumpRoom::of_file(text.size())));
  Status status = folder.files().write_once(overflow_file_name(ops_.running(), piece.stream, piece.time_us, 0), text);
  if (!status.ok()) room_.give_back(DumpRoom::of_file(text.size()));
  if (status.ok()) bytes_written_.fetch_add(text.size(), std::memory_order_relaxed);
  return status;
}

Result<FolderPointer> Writer::make_folder(const std::string& below) const {
  TENSORTAP_ASSIGN_OR_RETURN(auto files, NamedFolder::create(*options_.root, below, tree_rules(options_.access)));
  return std::make_shared<IterationFolder>(std::move(files), table_.header());
}

Result<FolderPointer> Writer::folder_of(int64_t step) {
  const auto found = folders_.find(step);
  if (found != folders_.end()) return found->second;
  const std::string below = options_.tree ? options_.tree->step_folder(step, false) : concat(options_.rank, "/", options_.net, "/0/", step);
  TENSORTAP_ASSIGN_OR_RETURN(const FolderPointer folder, make_folder(below));
  // The title of statistic.csv, and the rest of its last block.
  if (options_.statistics) room_.use(DumpRoom::kBlock);
  folders_[step] = folder;
  return folder;
}

// Records made once at load go into the first iteration, and constants into a separate folder.
Result<FolderPointer> Writer::folder_of(const RecordRow& row) {
  const bool load = row.phase == static_cast<uint8_t>(Phase::kLoad);
  if (!load || !ops_.find(row.op)->constant) return folder_of(load ? options_.first_step : row.step);
  if (constants_ == nullptr) {
    const std::string below = concat(options_.rank, "/", options_.net, "/0/constants");
    TENSORTAP_ASSIGN_OR_RETURN(constants_, make_folder(below));
  }
  return constants_;
}

Status Writer::add_op(OpId id, const OpInfo& op) {
  const std::lock_guard lock(mutex_);
  ops_.add(id, op);
  inputs_.add_op(id, op);
  return {};
}

void Writer::pass_over_ops(uint32_t count) {
  const std::lock_guard lock(mutex_);
  ops_.pass_over(count);
}

void Writer::op_decided(OpId id, const OpDecision& decision) {
  const std::lock_guard lock(mutex_);
  ops_.decide(id, decision);
  const Op* op = ops_.find(id);
  inputs_.decide(id, decision, op != nullptr && op->parameter && op->outputs);
}

const std::string& Writer::name_of(const Piece& piece, const RecordRow& row) {
  TensorName name;
  name.time_us = piece.time_us;
  name.is_input = piece.is_input;
  name.slot = piece.slot;
  const TensorDesc desc = row.desc();
  name.dtype = options_.tree ? class_dtype_name(desc.dtype) : dtype_name(options_.profile, desc.dtype);
  if (options_.tree) {
    name.task = piece.op->task;
    name.stream = piece.stream;
    name.format = desc.shape.rank() == kImageRank ? kImageFormat : kFlatFormat;
  }
  if ((row.flags & kRecordBlocked) != 0) name.format = kBlockedFormat;
  if (row.element_order == kOrderNhwc) name.format = kLastFormat;
  if (row.element_order == kOrderNdhwc) name.format = kLastOfFiveFormat;
  ops_.tensor_name(*piece.op, name, name_);
  return name_;
}

Status Writer::write_tensor(const Piece& piece, const FolderPointer& folder, const RecordRow& row, const TensorView& data, Place& place) {
  const std::string& name = name_of(piece, row);
  if (stored_dtype(data.desc.dtype) == DType::kUndefined) {
    return unsupported(concat(folder->files().path(), ": ", dtype_name(data.desc.dtype), " tensors have no place in a .npy file"));
  }
  place.taken = room_.limited() ? DumpRoom::of_file(npy_tensor_file_bytes(data.desc, row.bytes)) : 0;
  TENSORTAP_RETURN_IF_ERROR(room_.take(place.taken));
  const auto content = [&](int file, const std::string& path) { return npy_.write(file, path, data); };
  if (Status status = folder->files().write(name, content, place.stored, piece.stage); !status.ok()) {
    room_.give_back(place.taken);
    return status;
  }
  place.folder = folder;
  place.state = Place::State::kSettled;
  bytes_written_.fetch_add(npy_.file_bytes(), std::memory_order_relaxed);
  return {};
}

Status Writer::add_statistic(const Piece& piece, IterationFolder& folder, const RecordRow& row, const StatisticDigests& digests) {
  line_.clear();
  StatisticRow cells{piece.op->cells, piece.time_us, piece.is_input, piece.slot, &row, &digests};
  if (options_.tree) {
    cells.task = piece.op->task;
    cells.stream = piece.stream;
  }
  table_.append_row(cells, line_);
  TENSORTAP_RETURN_IF_ERROR(room_.take(line_.size()));
  Status status = folder.add_statistic(line_);
  if (!status.ok()) room_.give_back(line_.size());
  return status;
}

// Adds one tensor with its file and its row. A tensor without a file keeps its row, and the reason is returned.
Status Writer::add_piece(const Piece& piece, RecordRow& row, const TensorView* data, bool with_statistic, Place& place) {
  TENSORTAP_ASSIGN_OR_RETURN(const FolderPointer folder, folder_of(row));
  Status no_file;
  const bool has_data = data != nullptr && data->data != nullptr;
  if (options_.tensors && has_data && row.bytes > 0) {
    no_file = write_tensor(piece, folder, row, *data, place);
    if (!no_file.ok() && no_file.code() != StatusCode::kUnsupported) return no_file;
  } else if (options_.tensors && (row.flags & kRecordDataLost) == 0 && !(options_.statistics && row.numel == 0)) {
    no_file = unsupported(row.numel == 0 ? "a tensor without elements has no file" : "a record without data has no file");
  }
  if (options_.statistics) table_.complete(row, has_data ? data : nullptr, place.digests);
  if (options_.statistics && with_statistic) {
    if (Status status = add_statistic(piece, *folder, row, place.digests); !status.ok()) {
      if (place.state != Place::State::kNone) {
        folder->files().remove(place.stored);
        room_.give_back(place.taken);
      }
      place.state = Place::State::kNone;
      return status;
    }
  }
  if (place.state != Place::State::kNone) {
    row.flags |= kRecordHasData;
    row.data_bytes = row.bytes;
  }
  row.committed = place.state != Place::State::kNone || options_.statistics ? 1 : 0;
  if (with_statistic && !piece.is_input) noted_.note(describe_overflow(piece, *folder, row));
  return no_file;
}

Status Writer::add_output(RecordRow& row, const TensorView* data) {
  Op& op = *ops_.find(row.op);
  const Rows::Reader reader = inputs_.first_reader(row.op, row.slot_index);
  // A value that others read as a whole has one place only.
  if (row.element >= 0 && reader.op != kNoOp) return unsupported("MindSpore's tree cannot store sequences");
  const bool own = op.outputs && (row.flags & kRecordForReaders) == 0;
  if (!own && reader.op == kNoOp) return {};
  const bool at_once = own && (!op.parameter || op.constant);
  Piece piece = at_once ? piece_of(row.op, row.step, false, row.file_slot(), row) : Piece{&op, false, row.file_slot(), next_time()};
  if (!own) piece = {ops_.find(reader.op), true, reader.slot, piece.time_us};
  op.see(row.slot_index, row.desc());
  Place place;
  if (!at_once) piece.stage = NamedFolder::Stage::kStaged;
  const Status status = add_piece(piece, row, data, at_once, place);
  if (!status.ok() && status.code() != StatusCode::kUnsupported) return status;
  if (place.state == Place::State::kSettled && !at_once) place.state = own ? Place::State::kForTheStep : Place::State::kForReader;
  if (Rows::Source* source = inputs_.remember(row)) {
    source->place.clear(room_);
    std::swap(source->place, place);
  }
  return status;
}

// Gives a remembered value its file and its row as an input, or as a parameter of this step.
Status Writer::settle(const Piece& piece, int64_t step, Rows::Source& source) {
  TENSORTAP_ASSIGN_OR_RETURN(const FolderPointer folder, folder_of(step));
  Place& place = source.place;
  if (place.state != Place::State::kNone) {
    const std::string& name = name_of(piece, source.row);
    const bool first = piece.is_input ? place.state == Place::State::kForReader : place.state == Place::State::kForTheStep;
    std::string stored;
    if (first) {
      TENSORTAP_RETURN_IF_ERROR(folder->files().move(place.folder->files(), place.stored, name, stored));
      place.stored = std::move(stored);
      place.folder = folder;
      place.state = Place::State::kSettled;
    } else {
      uint64_t copied = 0;
      TENSORTAP_RETURN_IF_ERROR(folder->files().link(place.folder->files(), place.stored, name, stored, copied));
      bytes_written_.fetch_add(copied, std::memory_order_relaxed);
      room_.use(DumpRoom::of_file(copied));
    }
  }
  return options_.statistics ? add_statistic(piece, *folder, source.row, place.digests) : Status();
}

void Writer::begin_step(const RecordRow& row, Op& op) {
  noted_.note(companions_.begin(ops_));
  last_thread_ = row.thread;
  inputs_.before(row, [&](const Rows::Input& input) {
    noted_.note(settle(piece_of(input.op, input.step, true, input.slot, row), input.step, *input.source));
  });
  if (!options_.extras.attributes || op.parameter || op.attributes_step == row.step) return;
  op.attributes_step = row.step;
  const Result<FolderPointer> folder = folder_of(row.step);
  room_.use(DumpRoom::kBlock);
  noted_.note(folder.ok() ? companions_.write_attributes((*folder)->files(), op) : folder.status());
}

Status Writer::add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) {
  const std::lock_guard lock(mutex_);
  Op* op = ops_.find(row.op);
  if (op == nullptr) return unsupported("a record of an unknown op");
  if (options_.extras.graphs) ops_.follow(row);
  TENSORTAP_RETURN_IF_ERROR(check_place(row));
  // Unwritten memory has no values to keep.
  if ((row.flags & kRecordUnwritten) != 0) return {};
  if (row.phase != static_cast<uint8_t>(Phase::kLoad)) begin_step(row, *op);
  if (row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput)) return add_output(row, data);
  Place place;
  return add_piece(piece_of(row.op, row.step, true, row.file_slot(), row), row, data, true, place);
}

void Writer::end_parameters(int64_t step, uint64_t run) {
  for (OpId id = 0; id < ops_.all().size(); ++id) {
    Op* op = ops_.find(id);
    if (op == nullptr || !op->parameter || !op->outputs || op->constant) continue;
    Rows::Source* source = inputs_.source(run, id, 0);
    if (source != nullptr && (source->row.flags & kRecordForReaders) == 0) noted_.note(settle({op, false, 0, next_time()}, step, *source));
  }
}

Status Writer::flush_folders() {
  Status first;
  const auto flush = [&](const FolderPointer& folder) {
    Status status = folder->flush();
    if (first.ok()) first = std::move(status);
    bytes_written_.fetch_add(folder->files().take_text_bytes(), std::memory_order_relaxed);
  };
  for (const auto& [step, folder] : folders_) flush(folder);
  if (constants_ != nullptr) flush(constants_);
  return first;
}

Status Writer::end_step(int64_t step, uint64_t run) {
  const std::lock_guard lock(mutex_);
  noted_.note(companions_.begin(ops_));
  RecordRow end;
  end.run = run;
  end.thread = last_thread_;
  inputs_.end_step(step, run, [&](const Rows::Input& input) {
    noted_.note(settle(piece_of(input.op, input.step, true, input.slot, end), input.step, *input.source));
  });
  end_parameters(step, run);
  inputs_.forget(run, [this](Rows::Source& source) { source.place.clear(room_); });
  noted_.note(companions_.end_step(ops_, step));
  noted_.note(flush_folders());
  // A folder whose rows wait for room stays.
  if (const auto found = folders_.find(step); found != folders_.end() && found->second->waiting_rows_bytes() == 0) folders_.erase(found);
  return noted_.take();
}

Status Writer::flush() {
  const std::lock_guard lock(mutex_);
  noted_.note(flush_folders());
  return noted_.take();
}

std::vector<std::string> Writer::file_names_of(OpId id) {
  const std::lock_guard lock(mutex_);
  const Op* op = ops_.find(id);
  if (op == nullptr) return {};
  return {concat(op->file_type, ".", op->file_name)};
}

Status Writer::finish(std::string_view manifest) {
  const std::lock_guard lock(mutex_);
  noted_.note(flush_folders());
  // Forgets values of steps that did not end, and weights that no op read.
  inputs_.forget_all([this](Rows::Source& source) { source.place.clear(room_); });
  inputs_.each_loaded([this](Rows::Source& source) { source.place.clear(room_); });
  noted_.note(companions_.finish(ops_, manifest));
  folders_.clear();
  return noted_.take();
}

}  // namespace

Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec) {
  TENSORTAP_ASSIGN_OR_RETURN(WriterOptions options, writer_options(info, spec));
  TENSORTAP_ASSIGN_OR_RETURN(StatisticTable table, StatisticTable::create(options.profile.tree(), options.categories));
  return std::unique_ptr<LayoutWriter>(new Writer(std::move(options), std::move(table)));
}

}  // namespace tensortap::mindspore
