#include "system/msit/tree/tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "system/msit/tree/tree_names.h"
#include "system/msit/tree/type_words.h"

namespace tensortap::msit {
namespace {

constexpr size_t kBlock = size_t{64} << 10;

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t dim : shape.dims()) text += concat(text.empty() ? "" : ",", dim);
  return text.empty() ? "1" : text;
}

bool is_below(std::string_view path, std::string_view above) {
  return path.size() > above.size() && path.starts_with(above) && path[above.size()] == '/';
}

}  // namespace

std::vector<ExecutionTensor> Tables::side_of(const Execution& execution, bool is_input) const {
  // The tensors of a kernel are in the files of its operation.
  const std::string path = execution.is_kernel ? parent_path(execution.path) : execution.path;
  const std::string_view moment = options_.table_before ? kBefore : kAfter;
  const std::string folder = concat(options_.absolute_root, "/", options_.dump, "/", kTensors, "/", execution.process, "/", execution.round,
                                    "/", path, "/", moment, "/");
  std::vector<ExecutionTensor> side;
  for (const Slot& slot : is_input ? execution.inputs : execution.outputs) {
    side.push_back({std::string(type_word(slot.desc.dtype)), slot.blocked ? "nc1hwc0" : "nd", shape_text(slot.desc.shape),
                    concat(folder, tensor_name(is_input, slot.number, 0))});
  }
  return side;
}

std::string Tables::row_of(const Execution& execution, const std::string& name, uint64_t number) const {
  return execution_row(number, {name, execution.parameters, side_of(execution, true), side_of(execution, false)});
}

Status Tables::write(const std::string& name, Table& table) {
  if (table.waiting.empty()) return {};
  if (table.folder == nullptr) {
    const std::string below = concat(options_.dump, "/", parent_path(name));
    TENSORTAP_ASSIGN_OR_RETURN(table.folder, NamedFolder::create(*options_.root, below, {.access = options_.access}));
  }
  TENSORTAP_RETURN_IF_ERROR(table.folder->append(file_name(name), table.waiting));
  table.waiting.clear();
  return {};
}

Status Tables::end(const Execution& execution) {
  if (execution.is_kernel) return options_.kernel_table ? add_row(execution, execution.name, true) : Status();
  if (!execution.is_leaf) return {};
  Status status;
  if (options_.operation_table) status = add_row(execution, execution.name, false);
  if (options_.kernel_table && !execution.own_kernel.empty()) {
    const Status added = add_row(execution, execution.own_kernel, true);
    if (status.ok()) status = added;
  }
  return status;
}

Status Tables::add_row(const Execution& execution, const std::string& name, bool as_kernel) {
  const std::string process = execution.process.substr(execution.process.find('_') + 1);
  const std::string file = concat(as_kernel ? "kernel_io_tensors/" : "operation_io_tensors/", process,
                                  as_kernel ? "/kernel_tensors_" : "/operation_tensors_", execution.round, ".csv");
  Table& table = tables_[file];
  if (table.rows == 0) table.waiting = kExecutionColumns;
  table.waiting += row_of(execution, name, ++table.rows);
  return table.waiting.size() < kBlock ? Status() : write(file, table);
}

Status Tables::see(const TableOp& op, const RecordRow& row) {
  const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  std::vector<Execution>& running = running_[{row.run, row.thread}];
  const auto is_same = [&](const Execution& execution) {
    const auto& slots = is_input ? execution.inputs : execution.outputs;
    return execution.path == op.path && execution.process == op.process && execution.round == row.step && execution.call == row.call &&
           std::ranges::find(slots, row.file_slot(), &Slot::number) == slots.end();
  };
  const auto goes_on = [&](const Execution& execution) {
    return is_same(execution) || (is_below(op.path, execution.path) && execution.round == row.step && execution.process == op.process);
  };
  Status status;
  while (!running.empty() && !goes_on(running.back())) {
    if (const Status ended = end(running.back()); status.ok()) status = ended;
    running.pop_back();
  }
  if (running.empty() || !is_same(running.back())) {
    // What is below an operation may be known only when it runs.
    for (Execution& above : running) {
      above.is_leaf = above.is_leaf && op.is_kernel;
      above.own_kernel.clear();
    }
    running.push_back({std::string(op.process),
                       std::string(op.path),
                       std::string(op.name),
                       std::string(op.parameters),
                       std::string(op.own_kernel),
                       op.is_kernel,
                       op.is_leaf,
                       row.step,
                       row.call,
                       {},
                       {}});
  }
  auto& slots = is_input ? running.back().inputs : running.back().outputs;
  slots.insert(std::ranges::upper_bound(slots, row.file_slot(), {}, &Slot::number),
               {row.file_slot(), row.desc(), (row.flags & kRecordBlocked) != 0});
  return status;
}

Status Tables::end_run(uint64_t run) {
  Status status;
  for (auto running = running_.lower_bound({run, 0}); running != running_.end() && running->first.first == run;) {
    for (; !running->second.empty(); running->second.pop_back()) {
      if (const Status ended = end(running->second.back()); status.ok()) status = ended;
    }
    running = running_.erase(running);
  }
  const Status written = flush();
  return status.ok() ? written : status;
}

Status Tables::flush() {
  Status status;
  for (auto& [name, table] : tables_) {
    if (const Status written = write(name, table); status.ok()) status = written;
  }
  return status;
}

Status Tables::finish() {
  Status status;
  while (!running_.empty()) {
    if (const Status ended = end_run(running_.begin()->first.first); status.ok()) status = ended;
  }
  const Status written = flush();
  return status.ok() ? written : status;
}

}  // namespace tensortap::msit
