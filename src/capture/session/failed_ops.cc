#include "session/failed_ops.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "session/call_stack.h"
#include "session/event_view.h"
#include "session/thread_number.h"

namespace tensortap {
namespace {

constexpr size_t kMostLines = 100;

Json text_or_nothing(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::vector<std::string> input_names(const tensortap_op_event& event, RecordRow row, const OpInfo& op) {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
    row.slot_index = static_cast<uint16_t>(tensor.slot_index);
    row.element = tensor.element;
    names.push_back(record_name(row, op.name));
  }
  return names;
}

// What the report has of the op besides its inputs' names, as `detail` asks.
void add_details(const tensortap_op_event& event, const OpInfo& op, ExceptionDetail detail, Json& json) {
  if (detail == ExceptionDetail::kBrief) return;
  const Json attributes = Json::parse(op.attributes, nullptr, false);
  json["attributes"] = attributes.is_discarded() ? Json(nullptr) : attributes;
  json["tensors"] = Json::array();
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    const auto dtype = tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined;
    const uint32_t rank = tensor.dims == nullptr ? 0 : std::min<uint32_t>(tensor.rank, kMaxRank);
    json["tensors"].push_back({{"slot", slot_name(static_cast<SlotKind>(tensor.slot_kind % 4), tensor.slot_index)},
                               {"dtype", dtype_name(dtype)},
                               {"shape", std::vector<int64_t>(tensor.dims, tensor.dims + rank)}});
  }
  if (detail != ExceptionDetail::kDetail) return;
  json["registers"] = registers_here();
  json["stack"] = call_stack();
}

}  // namespace

FailedOps::FailedOps() = default;
FailedOps::~FailedOps() = default;

void FailedOps::add(const tensortap_op_event& event, const RecordRow& row, const OpInfo& op, std::string_view error,
                    ExceptionDetail detail) {
  Json failed{{"name", op.name}, {"type", op.type}, {"error", error}, {"step", row.step}, {"inputs", input_names(event, row, op)}};
  failed["source"] = text_or_nothing(op.source_location);
  failed["module"] = text_or_nothing(op.module);
  failed["exception"] = nullptr;
  add_details(event, op, detail, failed);
  const std::lock_guard lock(mutex_);
  if (count_++ == 0) first_ = std::make_unique<Json>(failed);
  if (by_line_.size() < kMostLines || by_line_.contains(op.source_location)) by_line_[op.source_location] = failed;
  last_thread_ = thread_number();
  open_[last_thread_] = std::move(failed);
  open_count_.store(static_cast<uint32_t>(open_.size()), std::memory_order_relaxed);
}

void FailedOps::caught() {
  if (open_count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  open_.erase(thread_number());
  open_count_.store(static_cast<uint32_t>(open_.size()), std::memory_order_relaxed);
}

bool FailedOps::program_raised(std::string_view text, const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto failed = by_line_.find(*line);
    if (failed == by_line_.end()) continue;
    ending_ = std::make_unique<Json>(failed->second);
    (*ending_)["exception"] = text;
    return true;
  }
  return false;
}

Json FailedOps::report() const {
  const std::lock_guard lock(mutex_);
  Json failed;
  if (ending_ != nullptr) {
    failed = *ending_;
  } else if (!open_.empty()) {
    const auto last = open_.find(last_thread_);
    failed = last == open_.end() ? open_.begin()->second : last->second;
  } else if (first_ != nullptr) {
    failed = *first_;
  }
  if (!failed.is_null()) failed["caught"] = ending_ == nullptr && open_.empty();
  return {{"failed_op", failed}, {"failed_ops", count_}};
}

}  // namespace tensortap
