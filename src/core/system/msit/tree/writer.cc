#include "system/msit/tree/writer.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "format/msit_bin/msit_bin_file.h"
#include "layout/document_path.h"
#include "system/msit/tree/launches.h"
#include "system/msit/tree/msit_options.h"
#include "system/msit/tree/operation_files.h"
#include "system/msit/tree/tables.h"
#include "system/msit/tree/times.h"
#include "system/msit/tree/topology.h"
#include "system/msit/tree/tree_names.h"
#include "system/msit/tree/written_operations.h"
#include "tree/input_rows.h"
#include "tree/noted_failures.h"
#include "tree/spool.h"

namespace tensortap::msit {
namespace {

// Where a value that ops read is stored: in a separate file, or in `kept` until the first of them has its turn.
struct Value {
  WrittenFile file;
  std::shared_ptr<const KeptBytes> kept;
};

// Whether the tree can store such a record at all.
Status check_place(const RecordRow& row) {
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  if (kind != SlotKind::kInput && kind != SlotKind::kOutput) {
    return unsupported("msit's tree can store inputs and outputs only");
  }
  const DType dtype = row.desc().dtype;
  if (!msit_bin_holds(dtype)) return unsupported(concat("msit's files have no element type ", dtype_name(dtype)));
  if (row.numel == 0) return unsupported("a tensor without elements has no file");
  return {};
}

bool is_load(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad); }

class Writer : public LayoutWriter,
               public FollowsDecisions,
               public FollowsSteps,
               public FollowsExecutions,
               public FollowsFirstRounds,
               public KeepsDocuments,
               public NamesFiles {
 public:
  explicit Writer(WriterOptions options)
      : options_(std::move(options)),
        tensors_(concat(options_.dump, "/", kTensors)),
        files_(options_),
        tables_(options_),
        times_(options_),
        launches_(options_.threads),
        ops_(concat(options_.root->path(), "/", tensors_), options_.process),
        inputs_(options_.only_with_records),
        spool_(options_.root) {}

  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    own.steps = this;
    own.documents = this;
    own.file_names = this;
    if (options_.times || options_.launches) own.executions = this;
    if (options_.describes_operations()) own.first_rounds = this;
    return own;
  }
  Status add_op(OpId id, const OpInfo& op) override;
  void op_decided(OpId id, const OpDecision& decision) override;
  Status end_step(int64_t step, uint64_t run) override;
  Status op_ran(OpId id, const RecordRow& event) override;
  void described(const RecordRow& row) override;
  Status round_passed(int64_t step, uint64_t run) override;
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return false; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) override;
  Status add_document(std::string_view path, std::string_view content, bool append) override;
  Status flush() override;
  [[nodiscard]] std::vector<std::string> file_names_of(OpId id) override;
  Status finish(std::string_view manifest) override;
  [[nodiscard]] uint64_t bytes_written() const override { return files_.bytes_written(); }

 private:
  using Rows = InputRows<Value>;

  [[nodiscard]] FilePlace place_of(const Op& op, const RecordRow& row) const;
  Status write_own(Op& op, RecordRow& row, const FilePart* elements, WrittenFile& file);
  Status write_input(const Rows::Input& input, uint32_t call);
  Status write_parameters(Op& op, const FilePlace& place, int64_t round);
  void tell_tables(const Op& op, const RecordRow& row);
  void add_to_topology(OpId id, const OpInfo& info);
  void tell_topology(OpId id, const RecordRow& row);
  Status write_launch(OpId id, const Op& op, const RecordRow& event);
  Status write_topology();
  Status write_topology(const std::string& folder, const TopologyDocument& document);
  Status keep(const TensorView& data, uint64_t bytes, Value& value);
  Status add_value(Op& op, RecordRow& row, const TensorView* data);

  const WriterOptions options_;
  const std::string tensors_;  // folder of the tensors, below the root
  OperationFiles files_;       // except for bytes_written(): guarded by mutex_
  std::mutex mutex_;           // all below
  Tables tables_;
  Times times_;
  Launches launches_;
  Topology topology_;
  Ops ops_;
  Rows inputs_;
  Spool spool_;
  NotedFailures noted_{"files"};
};

Status Writer::add_op(OpId id, const OpInfo& op) {
  const std::lock_guard lock(mutex_);
  ops_.add(id, op);
  inputs_.add_op(id, op);
  add_to_topology(id, op);
  return {};
}

void Writer::op_decided(OpId id, const OpDecision& decision) {
  const std::lock_guard lock(mutex_);
  ops_.decide(id, decision);
  inputs_.decide(id, decision);
}

FilePlace Writer::place_of(const Op& op, const RecordRow& row) const {
  const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  const bool before = row.moment == static_cast<uint8_t>(Moment::kBefore) || (is_input && options_.inputs_before);
  FilePlace place;
  place.operation = concat(tensors_, "/", op.process, "/", std::max<int64_t>(row.step, 0), "/", op.path);
  place.moment = before ? kBefore : kAfter;
  place.is_input = is_input;
  place.slot = row.file_slot();
  place.call = row.call;
  return place;
}

Status Writer::write_parameters(Op& op, const FilePlace& place, int64_t round) {
  if (op.parameters.empty() || op.last_round == round) return {};
  op.last_round = round;
  return files_.write_parameters(place.operation, op.parameters + "\n");
}

void Writer::tell_tables(const Op& op, const RecordRow& row) {
  if (!tables_.wanted()) return;
  const Op* owner = op.is_kernel && op.parameters.empty() ? ops_.find(op.parent) : &op;
  const std::string name = op.is_kernel ? op.type : concat(op.type, "_", op.ids);
  noted_.note(tables_.see({op.process, op.path, name, owner == nullptr ? std::string_view() : owner->parameters,
                           options_.own_kernels ? std::string_view(op.kernel) : std::string_view(), op.is_kernel, op.is_leaf},
                          row));
}

// Of kernels the real system's topology tells nothing.
void Writer::add_to_topology(OpId id, const OpInfo& info) {
  const Op* op = ops_.find(id);
  if (!options_.describes_operations() || op == nullptr || op->pseudo || op->is_kernel) return;
  // Every operator of a session of ONNX Runtime is one of its model.
  const std::string model = options_.model.empty() ? info.module.substr(0, info.module.find('.')) : options_.model;
  topology_.add(id, {op->ids, op->type, op->parameters, op->parent, model, info.model_phase});
}

void Writer::tell_topology(OpId id, const RecordRow& row) {
  if (!options_.describes_operations()) return;
  RecordRow told = row;
  // Where memory has no numbers, an input is the record that it was made of.
  if (!options_.model.empty() && told.storage == 0) {
    told.storage = std::numeric_limits<uint64_t>::max();
    told.version = told.sequence;
  }
  topology_.see(id, told);
}

Status Writer::write_topology() {
  const std::string process = options_.process.substr(options_.process.find('_') + 1);
  Status first;
  const auto write = [&](std::string_view folder, const std::vector<TopologyDocument>& documents) {
    for (const TopologyDocument& document : documents) {
      Status status = write_topology(concat(options_.dump, "/", folder, "/", process), document);
      if (first.ok()) first = std::move(status);
    }
  };
  if (options_.layer_topology) write("layer", topology_.layers());
  if (options_.model_topology) write("model", topology_.models());
  topology_.end_round();
  return first;
}

Status Writer::write_topology(const std::string& folder, const TopologyDocument& document) {
  TENSORTAP_RETURN_IF_ERROR(files_.write_document(folder, document.name, document.text + "\n"));
  if (!options_.onnx) return {};
  const auto types = [&](std::string_view name) {
    const auto found = document.types.find(std::string(name));
    return found == document.types.end() ? OperationTypes() : found->second;
  };
  TENSORTAP_ASSIGN_OR_RETURN(const std::string model, topology_model(document.text, document.name, kAllLevels, types));
  return files_.write_document(folder, concat(document.name.substr(0, document.name.rfind('.')), ".onnx"), model);
}

Status Writer::write_own(Op& op, RecordRow& row, const FilePart* elements, WrittenFile& file) {
  const FilePlace place = place_of(op, row);
  if (options_.files && (options_.kernel_files || !op.is_kernel)) {
    TENSORTAP_RETURN_IF_ERROR(files_.write(place, row, elements, file));
    noted_.note(write_parameters(op, place, row.step));
  }
  tell_tables(op, row);
  tell_topology(row.op, row);
  if (options_.launches) launches_.see(row.op, row);
  if (elements != nullptr) {
    row.flags |= kRecordHasData;
    row.data_bytes = row.bytes;
  }
  row.committed = 1;
  return {};
}

// Gives a remembered value its file as an input: the first time its own, then further names of one file.
Status Writer::write_input(const Rows::Input& input, uint32_t call) {
  Op& op = *ops_.find(input.op);
  Value& value = input.source->place;
  RecordRow row = input.source->row;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.slot_index = static_cast<uint16_t>(input.slot);
  row.position = 0;
  row.step = input.step;
  row.call = call;
  row.moment = static_cast<uint8_t>(Moment::kBefore);
  const FilePlace place = place_of(op, row);
  tell_tables(op, row);
  tell_topology(input.op, row);
  if (options_.launches) launches_.see(input.op, row);
  if (!options_.files) return {};
  noted_.note(write_parameters(op, place, row.step));
  if (!value.file.stored.empty()) return files_.link(value.file, place);
  FilePart elements{{}, value.kept};
  TENSORTAP_RETURN_IF_ERROR(files_.write(place, row, value.kept == nullptr ? nullptr : &elements, value.file));
  // Headers alone are not worth a link.
  if (value.kept == nullptr) value.file = {};
  value.kept.reset();
  return {};
}

Status Writer::keep(const TensorView& data, uint64_t bytes, Value& value) {
  TENSORTAP_ASSIGN_OR_RETURN(value.kept, spool_.keep({static_cast<const std::byte*>(data.data), bytes}));
  return {};
}

Status Writer::add_value(Op& op, RecordRow& row, const TensorView* data) {
  const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  const bool read_later = !is_input && row.element < 0 && inputs_.first_reader(row.op, row.slot_index).op != kNoOp;
  const bool own = !op.pseudo && (is_input || (op.outputs && (row.flags & kRecordForReaders) == 0));
  const bool has_data = options_.tensors && data != nullptr && data->data != nullptr;
  Value value;
  if (own) {
    const FilePart elements{{has_data ? static_cast<const std::byte*>(data->data) : nullptr, has_data ? row.bytes : 0}, nullptr};
    TENSORTAP_RETURN_IF_ERROR(write_own(op, row, has_data ? &elements : nullptr, value.file));
    if (!has_data) value.file = {};
  } else if (read_later && has_data) {
    TENSORTAP_RETURN_IF_ERROR(keep(*data, row.bytes, value));
  }
  if (Rows::Source* source = read_later ? inputs_.remember(row) : nullptr) source->place = std::move(value);
  return {};
}

Status Writer::add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) {
  const std::lock_guard lock(mutex_);
  Op* op = ops_.find(row.op);
  if (op == nullptr) return unsupported("a record of an unknown op");
  TENSORTAP_RETURN_IF_ERROR(check_place(row));
  // Memory that was never written has no values to keep.
  if ((row.flags & kRecordUnwritten) != 0) return {};
  if (!is_load(row)) {
    inputs_.before(row, [&](const Rows::Input& input) { noted_.note(write_input(input, input.op == row.op ? row.call : 0)); });
  }
  return add_value(*op, row, data);
}

Status Writer::end_step(int64_t step, uint64_t run) {
  const std::lock_guard lock(mutex_);
  inputs_.end_step(step, run, [this](const Rows::Input& input) { noted_.note(write_input(input, 0)); });
  inputs_.forget(run, [](Rows::Source& source) { source.place = {}; });
  noted_.note(tables_.end_run(run));
  noted_.note(write_topology());
  return noted_.take();
}

Status Writer::add_document(std::string_view path, std::string_view content, bool append) {
  if (!is_document_path(path)) return invalid_argument(concat(quote(path), " is no path of a file in a dump"));
  const std::lock_guard lock(mutex_);
  const std::string below = concat(options_.dump, "/", path);
  return append ? files_.append_document(parent_path(below), file_name(below), content)
                : files_.write_document(parent_path(below), file_name(below), content);
}

void Writer::described(const RecordRow& row) {
  const std::lock_guard lock(mutex_);
  tell_topology(row.op, row);
}

Status Writer::round_passed(int64_t /*step*/, uint64_t /*run*/) {
  const std::lock_guard lock(mutex_);
  return write_topology();
}

Status Writer::op_ran(OpId id, const RecordRow& event) {
  const std::lock_guard lock(mutex_);
  const Op* op = ops_.find(id);
  if (op == nullptr || op->pseudo) return {};
  if (options_.launches && !op->kernel.empty()) noted_.note(write_launch(id, *op, event));
  // The run times of kernels are not measured.
  if (!times_.wanted() || op->is_kernel) return {};
  return times_.see(id, {op->process, concat(op->type, "_", op->ids), op->parent, !op->kernel.empty()}, event);
}

// The file of an operator that is its own kernel lies where that of its first kernel would.
Status Writer::write_launch(OpId id, const Op& op, const RecordRow& event) {
  const std::string line = launches_.end(id, op.kernel, event);
  if (line.empty() || !(op.is_kernel || options_.own_kernels)) return {};
  const std::string own = op.is_kernel ? "" : concat("/0_", op.kernel);
  const std::string folder = concat(options_.dump, "/", kTiling, "/", op.process, "/", std::max<int64_t>(event.step, 0), "/", op.path, own);
  return files_.write_document(folder, std::string(kTilingFile), line);
}

Status Writer::flush() {
  const std::lock_guard lock(mutex_);
  noted_.note(tables_.flush());
  return noted_.take();
}

std::vector<std::string> Writer::file_names_of(OpId id) {
  const std::lock_guard lock(mutex_);
  const Op* op = ops_.find(id);
  if (op == nullptr || op->pseudo) return {};
  return {op->path};
}

Status Writer::finish(std::string_view manifest) {
  const std::lock_guard lock(mutex_);
  inputs_.forget_all([](Rows::Source& source) { source.place = {}; });
  noted_.note(tables_.finish());
  noted_.note(times_.finish());
  noted_.note(files_.write_manifest(manifest));
  return noted_.take();
}

}  // namespace

Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec) {
  TENSORTAP_ASSIGN_OR_RETURN(WriterOptions options, writer_options(info, spec));
  return std::unique_ptr<LayoutWriter>(new Writer(std::move(options)));
}

}  // namespace tensortap::msit
