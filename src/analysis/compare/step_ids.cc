#include "compare/step_ids.h"

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/spans.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr size_t kMostSteps = 2048;  // that are put beside each other
constexpr uint64_t kMostWeight = 16;
constexpr uint64_t kClearly = 3;  // more ids than equal numbers explain

bool is_whole(const RecordRow& row) {
  const DTypeInfo& type = dtype_info(static_cast<DType>(row.dtype));
  return (type.kind == DTypeKind::kSigned || type.kind == DTypeKind::kUnsigned) && type.bits >= 32 && row.numel > 0;
}

// Whether a tensor has one more dimension than another one, and the same before it.
bool is_row_for_each(const RecordRow& ids, const RecordRow& rows) {
  const Shape of_ids = ids.desc().shape;
  const Shape of_rows = rows.desc().shape;
  if (of_ids.rank() == 0 || of_rows.rank() != of_ids.rank() + 1 || of_rows[of_ids.rank()] < 2) return false;
  return std::ranges::equal(of_ids.dims(), first_of(of_rows.dims(), of_ids.dims().size()));
}

// Finds the rows that hold ids, in one pass.
class Lookups {
 public:
  explicit Lookups(const DumpIndex& dump) : dump_(dump) {}

  // By step. Empty where the dump has a pass that no inference has.
  std::map<int64_t, uint32_t> find() {
    for (const size_t number : rows_in_time_order(dump_)) {
      const RecordRow& row = dump_.rows()[number];
      const auto phase = static_cast<Phase>(row.phase);
      if (phase == Phase::kBackward || phase == Phase::kUpdate) return {};
      if (row.op < dump_.ops().size()) look_at(static_cast<uint32_t>(number), row);
    }
    return std::move(found_);
  }

 private:
  void look_at(uint32_t number, const RecordRow& row) {
    if (is_input(row)) {
      const RecordLookup::Execution execution = RecordLookup::execution_of(row);
      if (read_.empty() || execution != reader_) {
        read_.clear();
        reader_ = execution;
      }
      if (is_whole(row)) read_.push_back(number);
      return;
    }
    if (!is_output(row)) return;
    if (is_whole(row)) {
      made_[row.op] = number;
    } else if (is_floating(static_cast<DType>(row.dtype)) && !found_.contains(row.step)) {
      find_ids(row);
    }
  }
  void find_ids(const RecordRow& row) {
    const auto take = [&](uint32_t ids) { return is_row_for_each(dump_.rows()[ids], row) && found_.emplace(row.step, ids).second; };
    if (!read_.empty() && RecordLookup::execution_of(row) == reader_ && std::ranges::any_of(read_, take)) return;
    for (const OpInput& input : dump_.ops()[row.op].inputs) {
      const auto made = made_.find(input.producer);
      if (made != made_.end() && dump_.rows()[made->second].step == row.step && take(made->second)) return;
    }
  }

  const DumpIndex& dump_;
  std::map<int64_t, uint32_t> found_;
  std::vector<uint32_t> read_;  // whole numbers that the last reader read
  RecordLookup::Execution reader_{};
  std::unordered_map<OpId, uint32_t> made_;  // whole numbers that an op returned last
};

std::optional<StepIds> ids_of(const DumpIndex& dump, uint32_t number) {
  const RecordRow& row = dump.rows()[number];
  if ((row.flags & kRecordHasData) == 0) return std::nullopt;
  const Result<RecordData> data = dump.data(number);
  if (!data.ok() || !data->view.is_contiguous()) return std::nullopt;
  constexpr uint64_t kIdsAtOnce = 1024;
  std::vector<double> values(std::min(row.numel, kIdsAtOnce));
  StepIds ids{0x243f6a8885a308d3U, row.numel};
  for (uint64_t begin = 0; begin < row.numel; begin += kIdsAtOnce) {
    const uint64_t count = std::min(kIdsAtOnce, row.numel - begin);
    to_float64(data->view.desc.dtype, data->view.data, begin, count, values.data());
    for (const double value : first_of(std::span(values), count))
      ids.hash = (ids.hash ^ std::bit_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15U;
  }
  return ids;
}

using Steps = std::vector<std::pair<int64_t, StepIds>>;

uint64_t weight_of(const std::pair<int64_t, StepIds>& a, const std::pair<int64_t, StepIds>& b) {
  return a.second == b.second ? std::min(a.second.count, kMostWeight) : 0;
}

uint64_t weight_of_all(const Steps& steps) {
  uint64_t sum = 0;
  for (const auto& [step, ids] : steps) sum += std::min(ids.count, kMostWeight);
  return sum;
}

uint64_t weight_by_number(const Steps& a, const Steps& b) {
  uint64_t sum = 0;
  for (const auto& one : a) {
    const auto other = std::ranges::find(b, one.first, [](const auto& step) { return step.first; });
    if (other != b.end()) sum += weight_of(one, *other);
  }
  return sum;
}

// The heaviest pairs in the order of both.
std::pair<uint64_t, std::vector<StepPair>> heaviest(const Steps& a, const Steps& b) {
  const size_t width = b.size() + 1;
  std::vector<uint64_t> best((a.size() + 1) * width, 0);
  const auto at = [&](size_t i, size_t j) -> uint64_t& { return best[i * width + j]; };
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      const uint64_t weight = weight_of(a[i], b[j]);
      at(i, j) = std::max({at(i + 1, j), at(i, j + 1), weight > 0 ? weight + at(i + 1, j + 1) : 0});
    }
  }
  std::vector<StepPair> pairs;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t weight = weight_of(a[i], b[j]);
    if (weight > 0 && at(i, j) == weight + at(i + 1, j + 1)) {
      pairs.push_back({a[i++].first, b[j++].first});
    } else if (at(i, j) == at(i + 1, j)) {
      ++i;
    } else {
      ++j;
    }
  }
  return {at(0, 0), std::move(pairs)};
}

// A single token occurs again by chance: a pair counts only in a run of consecutive steps that has several ids.
std::vector<StepPair> in_runs(const Steps& a, const Steps& b, const std::vector<StepPair>& pairs) {
  const auto place = [](const Steps& steps, int64_t step) {
    return std::ranges::find(steps, step, [](const auto& one) { return one.first; }) - steps.begin();
  };
  std::vector<StepPair> kept;
  std::vector<StepPair> run;
  uint64_t weight = 0;
  const auto end_run = [&] {
    if (weight >= kClearly) kept.insert(kept.end(), run.begin(), run.end());
    run.clear();
    weight = 0;
  };
  for (const StepPair& pair : pairs) {
    const auto at_a = place(a, pair.a);
    const auto at_b = place(b, pair.b);
    if (!run.empty() && (place(a, run.back().a) + 1 != at_a || place(b, run.back().b) + 1 != at_b)) end_run();
    run.push_back(pair);
    weight += weight_of(a[static_cast<size_t>(at_a)], b[static_cast<size_t>(at_b)]);
  }
  end_run();
  return kept;
}

}  // namespace

std::map<int64_t, StepIds> step_ids(const DumpIndex& dump) {
  std::map<int64_t, StepIds> all;
  for (const auto& [step, row] : Lookups(dump).find()) {
    if (const auto ids = ids_of(dump, row)) all.emplace(step, *ids);
  }
  return all;
}

std::optional<std::vector<StepPair>> steps_by_ids(const DumpIndex& a, const DumpIndex& b) {
  const std::map<int64_t, StepIds> ids_a = step_ids(a);
  const std::map<int64_t, StepIds> ids_b = step_ids(b);
  const Steps of_a(ids_a.begin(), ids_a.end());
  const Steps of_b(ids_b.begin(), ids_b.end());
  if (of_a.empty() || of_b.empty() || of_a.size() > kMostSteps || of_b.size() > kMostSteps) return std::nullopt;
  const uint64_t by_number = weight_by_number(of_a, of_b);
  auto [weight, pairs] = heaviest(of_a, of_b);
  const uint64_t least = std::min(weight_of_all(of_a), weight_of_all(of_b));
  if (by_number == 0 ? weight * 2 < least || weight == 0 : weight < by_number + kClearly) return std::nullopt;
  pairs = in_runs(of_a, of_b, pairs);
  return pairs.empty() ? std::nullopt : std::optional(std::move(pairs));
}

}  // namespace tensortap
