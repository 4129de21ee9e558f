#include "cli/text/find_verdict.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/json.h"
#include "cli/text/member_text.h"
#include "find/find_report.h"

namespace tensortap::cli {
namespace {

constexpr size_t kOrigins = 3;

// The origin that matters: of the value that the program saw, where find knows it, else the first op that made something of finite values.
Json chosen_origin(const Json& found) {
  if (const Json* seen = member(found, "seen")) {
    if (member(*seen, "chain") != nullptr) return *seen;
    if (const Json* origin = member(*seen, "origin")) return *origin;
  }
  const Json* origins = member(found, "origins");
  if (origins == nullptr || !origins->is_array() || origins->empty()) return {};
  const auto op = std::ranges::find_if(*origins, [](const Json& one) { return member_text(one, "kind") == "op"; });
  return op == origins->end() ? origins->front() : *op;
}

// The steps of the chain lack what only the table of ops knows.
void add_places(const DumpIndex& dump, Json& origin) {
  const auto chain = origin.find("chain");
  if (chain == origin.end() || !chain->is_array()) return;
  for (Json& step : *chain) {
    const std::string name = step.is_object() ? step.value("op", "") : "";
    const auto op = std::ranges::find(dump.ops(), name, &OpInfo::name);
    if (name.empty() || op == dump.ops().end()) continue;
    if (!step.contains("module")) step["module"] = op->module.empty() ? Json() : Json(op->module);
    if (!step.contains("source")) step["source"] = op->source_location.empty() ? Json() : Json(op->source_location);
  }
}

}  // namespace

bool is_to_judge(const Json& report) {
  const Json* known = member(report, "to_judge");
  return known == nullptr || *known != false || count_in(report, "lost") > 0;
}

void add_verdict(const DumpIndex& dump, Json& summary) {
  Json found = find_report(dump, kOrigins);
  const bool keeps_all = dump.layout() == "tap";
  if (keeps_all) summary["not_counted"] = count_in(found, "unknown") + count_in(found, "left_out");
  if (keeps_all || !found["first_nonfinite"].is_null()) summary["first_nonfinite"] = found["first_nonfinite"];
  summary["harmless"] = found["harmless"];
  summary["unwritten"] = found["unwritten"];
  summary["origin"] = nullptr;
  if (found["first_nonfinite"].is_null()) return;
  summary["origin"] = chosen_origin(found);
  if (summary["origin"].is_object()) add_places(dump, summary["origin"]);
}

}  // namespace tensortap::cli
