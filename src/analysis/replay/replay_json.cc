#include "replay/replay_json.h"

#include <algorithm>

#include "base/json.h"
#include "compare/difference_json.h"

namespace tensortap {
namespace {

constexpr size_t kMostExamples = 3;

std::string name_of_value(const DumpIndex& dump, const ReplayedValue& value) {
  if (!value.row) return recorded_op_name(dump, *value.op);
  const RecordRow& row = dump.rows()[*value.row];
  return record_name(row, op_of(dump, row).name);
}

}  // namespace

Json replayed_json(const DumpIndex& dump, const ReplayedValue& value) {
  const OpInfo& op = dump.ops()[value.op->op];
  Json json = {{"record", name_of_value(dump, value)},
               {"op", op.name},
               {"type", op.type},
               {"domain", op.domain},
               {"step", value.op->step},
               {"call", value.op->call},
               {"outcome", outcome_name(value.outcome)}};
  if (value.row) {
    const TensorDesc desc = dump.rows()[*value.row].desc();
    json["dtype"] = dtype_name(desc.dtype);
    json["shape"] = std::vector<int64_t>(desc.shape.dims().begin(), desc.shape.dims().end());
    if (value.difference) add_difference(json, dump.rows()[*value.row], *value.difference);
  }
  json["reason"] = value.reason.empty() ? Json(nullptr) : Json(value.reason);
  return json;
}

void ReplaySummary::add(const ReplayedValue& value) {
  const std::string name = name_of_value(dump_, value);
  if (value.outcome == ReplayOutcome::kNotReplayed) {
    ++not_replayed_;
    Reason& reason = reasons_[value.reason];
    ++reason.count;
    if (reason.examples.size() < kMostExamples) reason.examples.push_back(name);
    return;
  }
  ops_ += last_ == value.op ? 0 : 1;
  last_ = value.op;
  if (value.outcome == ReplayOutcome::kEqual) {
    ++equal_;
    return;
  }
  ++differing_;
  Kernel& kernel = kernels_[dump_.ops()[value.op->op].type];
  if (kernel.outputs++ == 0) kernel.first = name;
  if (value.difference) kernel.largest = std::max(kernel.largest, value.difference->relative_l2);
}

Json ReplaySummary::to_json() const {
  Json kernels = Json::array();
  for (const auto& [type, kernel] : kernels_) {
    kernels.push_back({{"type", type}, {"outputs", kernel.outputs}, {"relative_l2", json_number(kernel.largest)}, {"first", kernel.first}});
  }
  Json reasons = Json::array();
  for (const auto& [reason, of] : reasons_) reasons.push_back({{"reason", reason}, {"count", of.count}, {"examples", of.examples}});
  return {{"ops", ops_},
          {"outputs", replayed()},
          {"equal", equal_},
          {"differing", differing_},
          {"kernels", std::move(kernels)},
          {"not_replayed", not_replayed_},
          {"reasons", std::move(reasons)}};
}

}  // namespace tensortap
