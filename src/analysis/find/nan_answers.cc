#include "find/nan_answers.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tensortap {
namespace {

bool asks_for_nan(const OpInfo& op) {
  constexpr std::array<std::string_view, 3> kTests = {"IsNaN", "IsInf", "Equal"};
  return std::ranges::find(kTests, std::string_view(op.type)) != kTests.end();
}

// ONNX Runtime's kernels compare numbers, and no comparison with NaN is true: the largest of the others comes out.
bool drops_nan(const OpInfo& op) {
  constexpr std::array<std::string_view, 4> kDrop = {"ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool"};
  return std::ranges::find(kDrop, std::string_view(op.type)) != kDrop.end();
}

bool is_whole(const RecordRow& row) {
  const auto dtype = static_cast<DType>(row.dtype);
  return dtype != DType::kUndefined && dtype != DType::kString && !is_floating(dtype);
}

}  // namespace

// Whether an op reads what an op of `wanted` makes.
bool NanAnswers::may_answer(const OpInfo& op, const std::vector<bool>& wanted) const {
  return !asks_for_nan(op) && std::ranges::any_of(op.inputs, [&](const OpInput& input) {
    const auto made = lookup_.producer_of(op, input);
    return made && wanted[made->first];
  });
}

std::optional<size_t> NanAnswers::answer_of(size_t row) const {
  std::optional<size_t> of_nan;
  std::optional<size_t> of_answer;
  bool others = false;
  for (const RecordLookup::Read& read : lookup_.reads_of(row)) {
    if (!read.row || *read.row == row) {
      others = true;
      continue;
    }
    const RecordRow& input = dump_.rows()[*read.row];
    if (const auto answer = answers_.find(*read.row); answer != answers_.end()) {
      of_answer = answer->second;
    } else if (nonfinite_[*read.row] && input.stats.nan > 0) {
      of_nan = *read.row;
    } else {
      others |= input.numel > 1 && op_of(dump_, input).type != kInitializerType;
    }
  }
  if (is_whole(dump_.rows()[row]) || drops_nan(op_of(dump_, dump_.rows()[row]))) return of_nan ? of_nan : of_answer;
  return others || of_nan ? std::nullopt : of_answer;
}

std::vector<size_t> NanAnswers::handed_out(const std::vector<size_t>& order) {
  const std::span<const OpInfo> ops = dump_.ops();
  std::vector<bool> wanted(ops.size());
  for (size_t row = 0; row < nonfinite_.size(); ++row) {
    if (nonfinite_[row] && dump_.rows()[row].op < ops.size()) wanted[dump_.rows()[row].op] = true;
  }
  std::vector<size_t> rows;
  for (const size_t row : order) {
    const RecordRow& record = dump_.rows()[row];
    if (!is_output(record) || record.op >= ops.size() || nonfinite_[row] || !may_answer(ops[record.op], wanted)) continue;
    const std::optional<size_t> answer = answer_of(row);
    if (!answer) continue;
    answers_.emplace(row, *answer);
    wanted[record.op] = true;
    if (facts_.is_result(record)) rows.push_back(*answer);  // of a body, too: what it hands out decides what follows
  }
  return rows;
}

}  // namespace tensortap
