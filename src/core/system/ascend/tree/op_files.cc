#include "system/ascend/tree/op_files.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "format/dump_data/overflow_block.h"

namespace tensortap::ascend {
namespace {

constexpr int kMostTimes = 1000;  // that are tried for a unique name
constexpr int32_t kByteType = 4;  // number of uint8

bool is_nonfinite(const Piece& piece) {
  const TensorStats& stats = piece.row.stats;
  return (stats.valid & kStatNonFinite) == 0 || stats.nan + stats.pos_inf + stats.neg_inf > 0;
}

}  // namespace

uint64_t OpFiles::next_time() {
  return last_time_us_ = std::max(last_time_us_ + 1, options_.time_us != 0 ? options_.time_us : wall_clock_us());
}

Result<std::shared_ptr<NamedFolder>> OpFiles::folder_of(const Op& op, const Execution& execution) {
  const int64_t step = execution.load ? options_.first_step : execution.step;
  const std::string below =
      execution.failed ? concat(kExceptionFolders, "/", options_.tree.device) : options_.tree.step_folder(step, op.single);
  if (!execution.failed) last_step_ = step;
  if (const auto found = folders_.find(below); found != folders_.end()) return found->second;
  TENSORTAP_ASSIGN_OR_RETURN(auto folder, NamedFolder::create(*options_.root, below, {.access = options_.access}));
  folders_[below] = folder;
  return folder;
}

std::string OpFiles::name_of(const Op& op, const Execution& execution, uint64_t time_us) const {
  if (!execution.failed) return concat(op.type, ".", op.name, ".", op.task, ".", execution.thread, ".", time_us);
  if (options_.brief_exceptions) return concat(kExceptionName, ".", execution.thread, ".", op.task, ".", wall_clock_digits(time_us));
  return concat(op.type, ".", op.name, ".", op.task, ".", wall_clock_digits(time_us));
}

Status OpFiles::write_file(NamedFolder& folder, const std::string& name, std::span<const FilePart> parts, std::string& stored) {
  uint64_t bytes = 0;
  for (const FilePart& part : parts) bytes += part.size();
  TENSORTAP_RETURN_IF_ERROR(room_.take(DumpRoom::of_file(bytes)));
  const Status status = folder.write(name, parts, stored);
  if (status.ok()) {
    bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    room_.give_back(DumpRoom::of_file(bytes));
  }
  return status;
}

// The file's name and its message contain its time. If the name is taken, by another process or within one millisecond, a later time is
// used.
Status OpFiles::write_tensors(const Op& op, Execution& execution, NamedFolder& folder, std::string& stored, std::string& name) {
  DumpDataFile file;
  std::vector<FilePart> parts(1);
  describe_execution(op, execution, {execution.failed && options_.brief_exceptions, has_images_}, file, parts);
  if (execution.failed) file.message = options_.failure;
  Status status;
  for (int attempt = 0; attempt < kMostTimes; ++attempt) {
    file.time_us = next_time() + (execution.failed ? static_cast<uint64_t>(attempt) * 1000 : 0);
    TENSORTAP_ASSIGN_OR_RETURN(const std::string head, make_dump_data_head(file));
    parts[0].bytes = std::as_bytes(std::span(head));
    name = name_of(op, execution, file.time_us);
    status = write_file(folder, name, parts, stored);
    if (status.code() != StatusCode::kUnsupported) break;
  }
  if (!status.ok()) return status;
  last_.path = join_path(folder.path(), stored);
  last_.offset = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) last_.offset += parts[i].size();
  return {};
}

Status OpFiles::write_statistics(const Execution& execution, NamedFolder& folder, const std::string& name) {
  std::string text = table_.header();
  for (const auto* pieces : {&execution.inputs, &execution.outputs}) {
    std::vector<const Piece*> order;
    for (const Piece& piece : *pieces) order.push_back(&piece);
    std::ranges::sort(order, {}, &Piece::slot);
    for (const Piece* piece : order) table_.append_row({pieces == &execution.inputs, piece->slot, has_images_}, piece->row, text);
  }
  const FilePart part{std::as_bytes(std::span(text)), nullptr};
  std::string stored;
  return write_file(folder, name + std::string(kStatisticSuffix), std::span(&part, 1), stored);
}

// Writes the block of an op that made NaN or Inf, as a separate file.
Status OpFiles::write_overflow(const Op& op, const Execution& execution, uint64_t task, NamedFolder& folder) {
  if (execution.outputs.empty() || std::ranges::none_of(execution.outputs, is_nonfinite)) return {};
  DumpDataFile file;
  file.time_us = next_time();
  file.op_name = kOverflowName;
  DumpDataTensor block;
  block.type = kByteType;
  block.format = 2;
  block.dims = block.original_dims = {kOverflowBlockBytes};
  block.size = kOverflowBlockBytes;
  block.origin.name = kOverflowName;
  file.outputs.push_back(std::move(block));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string head, make_dump_data_head(file));
  const auto bytes = make_overflow_block({options_.model_number, execution.thread, op.task});
  const std::array<FilePart, 2> parts = {FilePart{std::as_bytes(std::span(head)), nullptr}, FilePart{bytes, nullptr}};
  const std::string name = concat(kOverflowType, ".", kOverflowName, ".", task, ".", execution.thread, ".", file.time_us);
  std::string stored;
  return write_file(folder, name, parts, stored);
}

Status OpFiles::write(const Op& op, Execution& execution, uint64_t overflow_task) {
  if (op.without_file) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(op, execution));
  std::string stored;
  std::string name = name_of(op, execution, 0);
  const auto has_data = [](const Piece& piece) { return piece.data != nullptr || piece.kept != nullptr; };
  const bool tensors = std::ranges::any_of(execution.inputs, has_data) || std::ranges::any_of(execution.outputs, has_data);
  if (tensors) {
    TENSORTAP_RETURN_IF_ERROR(write_tensors(op, execution, *folder, stored, name));
  } else {
    name = name_of(op, execution, next_time());
  }
  if (options_.statistics) TENSORTAP_RETURN_IF_ERROR(write_statistics(execution, *folder, name));
  if (options_.scene == TreeScene::kOverflow && !op.pseudo) return write_overflow(op, execution, overflow_task, *folder);
  return {};
}

}  // namespace tensortap::ascend
