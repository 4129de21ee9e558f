#include "trace/completeness.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kMostLines = 3;

using Count = std::optional<uint64_t>;

void add_count(Count& sum, const Count& other) { sum = sum && other ? Count(*sum + *other) : std::nullopt; }

void add_counts(DumpCounts& sum, const DumpCounts& other) {
  add_count(sum.records, other.records);
  add_count(sum.tensors, other.tensors);
  add_count(sum.ops, other.ops);
  add_count(sum.steps, other.steps);
}

bool lacks(const Count& found, const Count& written) { return found && written && *found < *written; }

Json count_json(const Count& count) { return count ? Json(*count) : Json(nullptr); }

// "1,945 of 21,961 records". When none is missing, or nothing says how many there were, "1,945 records" with `always` and otherwise "".
std::string share_text(const Count& found, const Count& written, std::string_view noun, bool always) {
  if (found && written && *found < *written) return concat(grouped(*found), " of ", grouped(*written), " ", noun);
  return always && found ? concat(grouped(*found), " ", noun) : "";
}

std::string steps_text(const Completeness& one) {
  if (!one.step_range) return "";
  const auto [first, last] = *one.step_range;
  std::string text = first == last ? concat("step ", first) : concat("steps ", first, " to ", last);
  if (one.written.steps) text += concat(" of ", grouped(*one.written.steps));
  return text;
}

Count known_count(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number_unsigned() ? Count(value->get<uint64_t>()) : std::nullopt;
}

// Limits of the config, and what nothing can keep, are no gaps of the dump.
void add_losses(const Json& manifest, Completeness& completeness) {
  if (const uint64_t count = count_in(manifest, "not_looked_at"); count > 0) completeness.lack(not_looked_at_text(count));
  const Json* losses = member(manifest, "losses");
  if (losses == nullptr || !losses->is_array()) return;
  for (const Json& loss : *losses) {
    if (text_in(loss, "kind") != "failure") continue;
    completeness.lack(concat("the capture lost ", counted(count_in(loss, "count"), "record"), ": ", text_in(loss, "reason")));
  }
}

}  // namespace

std::string not_looked_at_text(uint64_t count) {
  return concat(counted(count, "record"), count == 1 ? " was" : " were", " not looked at (tensor on a device)");
}

Json counts_json(const DumpCounts& counts) {
  return {{"records", count_json(counts.records)},
          {"tensors", count_json(counts.tensors)},
          {"ops", count_json(counts.ops)},
          {"steps", count_json(counts.steps)}};
}

std::string_view dump_state_name(DumpState state) {
  constexpr std::array<std::string_view, 4> kNames = {"complete", "unknown", "running", "incomplete"};
  return kNames[static_cast<size_t>(state)];
}

void Completeness::worsen(DumpState other) { state = std::max(state, other); }

void Completeness::lack(std::string reason) {
  state = DumpState::kIncomplete;
  if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
}

Completeness sum_of(std::span<const NamedCompleteness> dumps) {
  if (dumps.empty()) return {};
  Completeness sum = dumps.front().completeness;
  if (dumps.size() == 1) return sum;
  sum.reasons.clear();
  for (size_t i = 0; i < dumps.size(); ++i) {
    const Completeness& one = dumps[i].completeness;
    for (const std::string& reason : one.reasons) sum.reasons.push_back(concat(dumps[i].name, ": ", reason));
    if (i == 0) continue;
    sum.worsen(one.state);
    add_counts(sum.found, one.found);
    add_counts(sum.written, one.written);
    if (!one.step_range) continue;
    const auto [first, last] = *one.step_range;
    const auto before = sum.step_range.value_or(*one.step_range);
    sum.step_range.emplace(std::min(before.first, first), std::max(before.second, last));
  }
  return sum;
}

void Completeness::count_steps(std::span<const RecordRow> rows) {
  std::set<int64_t> steps;
  std::optional<int64_t> last;
  for (const RecordRow& row : rows) {
    // Weights are recorded when a model is loaded, before any step. Rows of one step mostly lie together.
    if (row.phase == static_cast<uint8_t>(Phase::kLoad) || last == row.step) continue;
    steps.insert(row.step);
    last = row.step;
  }
  found.steps = steps.size();
  step_range.reset();
  if (!steps.empty()) step_range.emplace(*steps.begin(), *steps.rbegin());
}

Json completeness_json(const Completeness& completeness) {
  const DumpState state = completeness.state;
  Json found = counts_json(completeness.found);
  const auto& range = completeness.step_range;
  found["first_step"] = range ? Json(range->first) : Json(nullptr);
  found["last_step"] = range ? Json(range->second) : Json(nullptr);
  return {{"complete", state == DumpState::kUnknown ? Json(nullptr) : Json(state == DumpState::kComplete)},
          {"state", std::string(dump_state_name(state))},
          {"found", std::move(found)},
          {"written", counts_json(completeness.written)},
          {"reasons", completeness.reasons}};
}

std::string completeness_text(const Completeness& one, std::string_view name) {
  if (one.holds_all()) return "";
  std::vector<std::string> parts;
  const auto add = [&parts](std::string text) {
    if (!text.empty()) parts.push_back(std::move(text));
  };
  const bool is_short = lacks(one.found.records, one.written.records) || lacks(one.found.tensors, one.written.tensors) ||
                        lacks(one.found.ops, one.written.ops);
  add(share_text(one.found.records, one.written.records, "records", true));
  add(share_text(one.found.tensors, one.written.tensors, "tensors", false));
  add(share_text(one.found.ops, one.written.ops, "ops", false));
  add(steps_text(one));
  if (!is_short && !one.reasons.empty()) add(one.reasons.front());
  const std::string what = parts.empty() ? "it cannot be read" : join(parts, ", ");
  const std::string subject = one.state == DumpState::kRunning ? concat("a program still writes ", name.empty() ? "this dump" : name)
                                                               : concat("incomplete dump", name.empty() ? "" : " ", name);
  return concat(subject, ": ", what, "; the answer below holds for these only");
}

Json completeness_json(std::span<const NamedCompleteness> dumps) {
  Json json = completeness_json(sum_of(dumps));
  if (dumps.size() < 2) return json;
  json["parts"] = Json::array();
  for (const auto& [name, completeness] : dumps) {
    Json part = completeness_json(completeness);
    part["name"] = name;
    json["parts"].push_back(std::move(part));
  }
  return json;
}

std::vector<std::string> completeness_lines(std::span<const NamedCompleteness> dumps) {
  std::vector<std::string> lines;
  for (const auto& [name, completeness] : dumps) {
    std::string text = completeness_text(completeness, dumps.size() > 1 ? std::string_view(name) : "");
    if (!text.empty()) lines.push_back(std::move(text));
  }
  if (lines.size() <= kMostLines) return lines;
  const size_t count = lines.size();
  lines.resize(kMostLines);
  lines.insert(lines.begin(), concat("incomplete dumps: ", count, " of ", dumps.size(), "; the answer below holds for what is there"));
  lines.push_back(concat("and ", count - kMostLines, " more incomplete dumps (--json lists them)"));
  return lines;
}

void add_manifest(const Json& manifest, Completeness& completeness) {
  if (!manifest.is_object() || manifest.empty()) return;
  completeness.written.records = known_count(manifest, "records");
  if (const Json* steps = member(manifest, "steps")) completeness.written.steps = known_count(*steps, "captured");
  if (const Json* written = member(manifest, kWrittenMember)) {
    completeness.written.records = known_count(*written, "records");
    completeness.written.tensors = known_count(*written, "tensors");
    completeness.written.ops = known_count(*written, "ops");
  }
  if (completeness.state == DumpState::kUnknown) completeness.state = DumpState::kComplete;
  const std::vector<std::string> dropped = strings_in(manifest, kIncompleteMember);
  for (const std::string& reason : dropped) completeness.lack(reason);
  const Json* complete = member(manifest, "complete");
  if (complete != nullptr && *complete == Json(false) && dropped.empty()) {
    completeness.lack("the capture did not come to its end: its program was killed, or could not write its report");
  }
  add_losses(manifest, completeness);
}

}  // namespace tensortap
