#include "find/find_report.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/coverage_reasons.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "find/find_json.h"
#include "find/first_cause.h"
#include "find/lead.h"
#include "find/told_nonfinite.h"
#include "find/trends_json.h"
#include "find/unwritten_reads.h"
#include "query/compile_route.h"
#include "query/failed_op.h"
#include "query/unseen_ops.h"
#include "trace/completeness.h"

namespace tensortap {
namespace {

constexpr size_t kMostOrigins = 1000;  // that are looked through for one that is not intended

Json headroom_lists(const DumpIndex& dump, size_t limit) {
  constexpr DType kTargets[] = {DType::kFloat16, DType::kBFloat16};
  const auto found = find_headrooms(dump, kTargets);
  Json lists = Json::object();
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string target(dtype_name(kTargets[i]));
    Json& list = lists[target] = Json::array();
    for (size_t one = 0; one < std::min(limit, found[i].size()); ++one) list.push_back(headroom_json(dump, found[i][one], target));
  }
  return lists;
}

Json origin_list(const DumpIndex& dump, const std::vector<NonFiniteOrigin>& origins) {
  Json list = Json::array();
  for (const NonFiniteOrigin& origin : origins) list.push_back(origin_json(dump, origin));
  return list;
}

// How the values of the op to fix grew before: its outputs and its inputs.
Json lead_of(const DumpIndex& dump, size_t row, const NonFiniteFindings& found) {
  std::vector<size_t> inputs;
  const auto add = [&](const NonFiniteOrigin& origin) {
    if (inputs.empty() && origin.chain.back().row == row) inputs = origin.chain.back().inputs;
  };
  if (found.seen) add(*found.seen);
  for (const NonFiniteOrigin& origin : found.origins) add(origin);
  const std::optional<Trend> lead = lead_to(dump, row, inputs);
  return lead ? lead_json(dump, *lead) : Json();
}

Json dead_list(const DumpIndex& dump, size_t limit) {
  Json list = Json::array();
  for (const DeadOutput& dead : find_dead_outputs(dump)) {
    if (list.size() == limit) break;
    list.push_back(dead_output_json(dump, dead));
  }
  return list;
}

// A manifest, or a report about one, says that ops were to be captured, and none was. A trigger captures none where nothing happens.
bool captured_no_op(const Json& report) {
  if (const Json* none = member(report, "captured_none")) return *none == true;
  const Json* ops = member(report, "ops");
  return member(report, "trigger") == nullptr && ops != nullptr && count_in(*ops, "expected") > 0 && count_in(*ops, "captured") == 0;
}

// What the capture looked at and did not write.
void add_looks_without_records(const Json& manifest, Json& report) {
  report[kLeftOutByCondition] = count_in(manifest, kLeftOutByCondition);
  const Json* trigger = member(manifest, "trigger");
  const Json* ops = member(manifest, "ops");
  const bool watched = trigger != nullptr && ops != nullptr && count_in(*ops, "expected") > 0;
  report["trigger"] = watched ? *trigger : Json(nullptr);
  report["captured_none"] = captured_no_op(manifest);
}

Json reasons_of(const Json& report) {
  const Json* reasons = member(report, "not_captured");
  return reasons == nullptr ? Json::array() : *reasons;
}

std::vector<std::string> sentences_of(const Json& report) { return unseen_values(reasons_of(report), count_in(report, "hidden_ops")); }

}  // namespace

void add_unseen(const DumpIndex& dump, Json& answer) {
  const Json manifest = manifest_json(dump);
  const size_t unknown = count_unknown(dump);
  const size_t not_looked_at = count_not_looked_at(dump);
  answer["unknown"] = unknown;
  answer["not_captured"] = unseen_ops_json(manifest);
  answer["not_looked_at"] = not_looked_at;
  answer["hidden_ops"] = count_hidden_ops(manifest);
  answer["left_out"] = count_left_out(dump);
  answer["records"] = dump.rows().size();
  answer["known"] = dump.rows().size() - unknown - not_looked_at;
  add_looks_without_records(manifest, answer);
  answer["not_known"] = text_or_null(not_known_text(answer));
}

Json find_report(const DumpIndex& dump, size_t limit) {
  Json report;
  // Weights that hold Inf on purpose, as masks do, are listed among the origins.
  const auto first_in_time = first_nonfinite(dump, false);
  const NonFiniteFindings found = find_nonfinite(dump, std::max(limit, kMostOrigins));
  const auto& [seen, origins, judged] = found;
  const auto first = first_cause(dump, first_in_time, found);
  report["first_nonfinite"] = first ? nonfinite_json(dump, *first) : told_nonfinite(dump);
  report["lead"] = first ? lead_of(dump, first->row, found) : Json();
  if (first_in_time && (!first || first->row != first_in_time->row)) report["first_in_time"] = nonfinite_json(dump, *first_in_time);
  report["seen"] = seen ? origin_json(dump, *seen) : Json();
  report["harmless"] = static_cast<uint64_t>(std::ranges::count(origins, true, &NonFiniteOrigin::harmless));
  report["origins"] = origin_list(dump, {origins.begin(), origins.begin() + static_cast<ptrdiff_t>(std::min(limit, origins.size()))});
  report["failed_op"] = failed_op(dump);
  report["unwritten"] = Json::array();
  for (const size_t row : find_unwritten_reads(dump, limit)) report["unwritten"].push_back(unwritten_json(dump, row));
  add_unseen(dump, report);
  report["compile_route"] = text_or_null(compile_route_text(manifest_json(dump)));
  report["headroom"] = headroom_lists(dump, limit);
  report["dead_outputs"] = dead_list(dump, limit);
  report["gradients"] = gradients_json(dump, find_gradients(dump));
  return report;
}

bool has_finding(const Json& report) {
  return !report.at("first_nonfinite").is_null() || !report.at("unwritten").empty() || ended_program(report.at("failed_op"));
}

std::string not_known_text(const Json& report) {
  std::vector<std::string> texts;
  const uint64_t records = count_in(report, "records");
  if (saw_nothing(report)) {
    texts.emplace_back(nothing_seen_text(report));
  } else if (const uint64_t unknown = count_in(report, "unknown"); unknown > 0) {
    texts.push_back(concat(unknown, " of ", counted(records, "record"), unknown == 1 ? " has" : " have",
                           " neither counts of all elements nor all data"));
  }
  if (const uint64_t count = count_in(report, "not_looked_at"); count > 0) texts.push_back(not_looked_at_text(count));
  if (const uint64_t count = count_in(report, "left_out"); count > 0) {
    texts.push_back(concat("a limit of the capture left out ", counted(count, "record")));
  }
  for (std::string& sentence : sentences_of(report)) texts.push_back(std::move(sentence));
  return join(texts, "; ");
}

bool is_partial(const Json& answer) { return !text_in(answer, "not_known").empty(); }

std::string_view nothing_seen_text(const Json& report) {
  if (count_in(report, "records") == 0) return "the dump has no records";
  return captured_no_op(report) ? "no op of the program was captured" : "the dump counts NaN and Inf in none of its records";
}

bool saw_nothing(const Json& report) {
  if (!report.is_object()) return false;
  if (count_in(report, kLeftOutByCondition) > 0) return false;
  if (captured_no_op(report)) return true;
  if (const Json* known = member(report, "known"); known != nullptr && *known == 0 && count_in(report, "records") > 0) return true;
  const Json* records = member(report, "records");
  if (records == nullptr || *records != 0) return false;
  const Json* ops = member(report, "ops");
  return member(report, "trigger") == nullptr || (ops != nullptr && count_in(*ops, "expected") == 0);
}

bool has_unseen_ops(const Json& manifest) { return !unseen_ops_json(manifest).empty(); }

bool ran_fused(const Json& report) { return has_reason(reasons_of(report), kReasonFused); }

bool hid_ops(const Json& report) { return !sentences_of(report).empty(); }

Result<Json> find_source(const DumpIndex& dump, std::string_view text) {
  std::vector<OpId> ops = ops_of_source(dump, text);
  if (ops.empty()) ops = ops_of_name(dump, text);
  if (ops.empty()) return not_found(concat("no op of this dump comes from ", quote(text), ", and none has that name"));
  Json answer = {{"source", std::string(text)}, {"ops", Json::array()}};
  for (const OpId op : ops) answer["ops"].push_back(op_source_json(dump, op));
  return answer;
}

}  // namespace tensortap
