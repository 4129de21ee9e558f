#include "compare/step_pairs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "compare/step_ids.h"
#include "compare/value_table.h"

namespace tensortap {
namespace {

constexpr int64_t kMostStepsOfRange = 1 << 20;

Status bad_steps(std::string_view part) {
  return invalid_argument(
      concat("steps ", quote(part), ": write a step of A and one of B as 3:4, equal ones as 3 or 0-5, several with commas"));
}

Status add_part(std::string_view part, std::vector<StepPair>& pairs) {
  const size_t colon = part.find(':');
  const size_t dash = part.find('-', 1);
  StepPair pair;
  if (colon != std::string_view::npos) {
    if (!parse_integer(part.substr(0, colon), pair.a) || !parse_integer(part.substr(colon + 1), pair.b)) return bad_steps(part);
    pairs.push_back(pair);
    return {};
  }
  int64_t last = 0;
  if (!parse_integer(part.substr(0, dash), pair.a)) return bad_steps(part);
  last = pair.a;
  if (dash != std::string_view::npos && !parse_integer(part.substr(dash + 1), last)) return bad_steps(part);
  if (last < pair.a || last - pair.a >= kMostStepsOfRange) return bad_steps(part);
  for (int64_t step = pair.a; step <= last; ++step) pairs.push_back({step, step});
  return {};
}

std::set<int64_t> steps_in(const DumpIndex& dump) {
  std::set<int64_t> steps;
  std::optional<int64_t> last;
  for (const RecordRow& row : dump.rows()) {
    if (is_load(row) || row.step == last) continue;
    last = row.step;
    steps.insert(row.step);
  }
  return steps;
}

std::vector<StepPair> equal_numbers(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  std::vector<StepPair> pairs;
  for (const int64_t step : a) {
    if (b.contains(step)) pairs.push_back({step, step});
  }
  return pairs;
}

std::vector<StepPair> in_order(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  std::vector<StepPair> pairs;
  auto other = b.begin();
  for (auto step = a.begin(); step != a.end() && other != b.end(); ++step, ++other) pairs.push_back({*step, *other});
  return pairs;
}

}  // namespace

Result<std::vector<StepPair>> step_pairs_of_phase(const DumpIndex& a, const DumpIndex& b, ModelPhase phase) {
  const auto knows = [](const DumpIndex& dump) {
    return std::ranges::any_of(dump.rows(), [](const RecordRow& row) { return row.model_phase != 0; });
  };
  const bool in_a = knows(a) || !knows(b);
  std::set<int64_t> wanted;
  for (const RecordRow& row : (in_a ? a : b).rows()) {
    if (row.model_phase == static_cast<uint8_t>(phase)) wanted.insert(row.step);
  }
  std::vector<StepPair> pairs = choose_steps(a, b, {}).pairs;
  std::erase_if(pairs, [&](const StepPair& pair) { return !wanted.contains(in_a ? pair.a : pair.b); });
  if (pairs.empty()) return not_found(concat("no step of both dumps is of the phase ", quote(model_phase_name(phase))));
  return pairs;
}

Result<std::vector<StepPair>> parse_step_pairs(std::string_view text) {
  std::vector<StepPair> pairs;
  if (text.empty()) return pairs;
  for (const std::string_view part : split(text, ',')) TENSORTAP_RETURN_IF_ERROR(add_part(trim(part), pairs));
  std::set<int64_t> seen;
  for (const StepPair& pair : pairs) {
    if (!seen.insert(pair.a).second) return invalid_argument(concat("steps ", quote(text), ": step ", pair.a, " of A is listed twice"));
  }
  return pairs;
}

ChosenSteps choose_steps(const DumpIndex& a, const DumpIndex& b, const std::vector<StepPair>& asked) {
  const std::set<int64_t> of_a = steps_in(a);
  const std::set<int64_t> of_b = steps_in(b);
  ChosenSteps chosen;
  if (!asked.empty()) {
    std::ranges::copy_if(asked, std::back_inserter(chosen.pairs),
                         [&](const StepPair& pair) { return of_a.contains(pair.a) && of_b.contains(pair.b); });
  } else {
    const bool may_be_others = of_a.size() > 1 || of_b.size() > 1 || of_a != of_b;
    auto by_ids = may_be_others ? steps_by_ids(a, b) : std::nullopt;
    chosen.by_ids = by_ids.has_value();
    chosen.pairs = by_ids ? *std::move(by_ids) : equal_numbers(of_a, of_b);
    chosen.by_order = chosen.pairs.empty() && !of_a.empty() && !of_b.empty();
    if (chosen.by_order) chosen.pairs = in_order(of_a, of_b);
  }
  std::set<int64_t> compared_a;
  std::set<int64_t> compared_b;
  for (const StepPair& pair : chosen.pairs) {
    compared_a.insert(pair.a);
    compared_b.insert(pair.b);
  }
  chosen.alone_a = of_a.size() - compared_a.size();
  chosen.alone_b = of_b.size() - compared_b.size();
  if (chosen.alone_a > 0) chosen.only_a = std::move(compared_a);
  if (chosen.alone_b > 0) chosen.only_b = std::move(compared_b);
  return chosen;
}

}  // namespace tensortap
