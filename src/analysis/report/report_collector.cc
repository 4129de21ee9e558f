#include "report/report_collector.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "report/small_slice.h"

namespace tensortap {
namespace {

constexpr size_t kPage = 1000;        // of a list, at once
constexpr uint32_t kMostCells = 128;  // of a picture, in a row
constexpr uint64_t kMostOpenOps = 30'000;
// Shares of the room.
constexpr double kGraphs = 0.3;  // of each graph with everything open
constexpr double kLinks = 0.8;   // up to which graphs are added in which one op is shown
constexpr std::array<std::string_view, 7> kColours = {"nonfinite", "absmax", "l2", "std", "mean", "zero", "headroom"};
constexpr std::array<std::string_view, 2> kPairColours = {"error", "own"};
constexpr const char* kSeriesKeys = "absmax,l2,mean,std,min,max,zero,nan";  // as web/src/base/report.ts asks for them
constexpr std::array<std::string_view, 4> kPairViews = {"difference", "a", "b", "ulp"};

bool is_fine(const Answer& answer) { return answer.status == 200; }

size_t shown_ops(const Json& graph) {
  if (!graph.is_object() || !graph.contains("nodes") || !graph.at("nodes").is_array()) return 0;
  return static_cast<size_t>(std::ranges::count_if(graph.at("nodes"), [](const Json& node) { return node.value("kind", "") == "op"; }));
}

// The file that the lines of an op or a record were read from, "" = none.
std::string source_read(const Json& answer) {
  const Json* lines = answer.is_object() && answer.contains("source_lines") ? &answer.at("source_lines") : nullptr;
  return lines != nullptr && lines->is_object() && lines->contains("read") && lines->at("read").is_string() ? lines->value("read", "") : "";
}

}  // namespace

bool ReportCollector::has_room(double share) const {
  return static_cast<double>(answers_.bytes()) < share * static_cast<double>(answers_.most_bytes());
}

void ReportCollector::note(std::string sentence) {
  if (std::ranges::find(notes_, sentence) == notes_.end()) notes_.push_back(std::move(sentence));
}

std::optional<Json> ReportCollector::look(const std::string& target) const {
  const Answer answer = ask_(target);
  if (!is_fine(answer)) return std::nullopt;
  auto json = parse_json(answer.body, target);
  return json.ok() ? std::optional(*std::move(json)) : std::nullopt;
}

std::optional<Json> ReportCollector::kept(const std::string& target) const {
  auto json = parse_json(answers_.find(target), target);
  return json.ok() ? std::optional(*std::move(json)) : std::nullopt;
}

std::optional<Json> ReportCollector::keep(const std::string& target, double share) {
  if (answers_.has(target)) return std::nullopt;
  const Answer answer = ask_(target);
  const auto taken = static_cast<double>(answers_.bytes() + answer.body.size());
  if (!is_fine(answer) || taken > share * static_cast<double>(answers_.most_bytes())) return std::nullopt;
  auto json = parse_json(answer.body, target);
  if (!json.ok() || !answers_.add_json(target, answer.body)) return std::nullopt;
  if (const std::string source = source_read(*json); !source.empty()) sources_.insert(source);
  return *std::move(json);
}

bool ReportCollector::keep_bytes(const std::string& target) {
  if (answers_.has(target)) return true;
  const Answer answer = ask_(target);
  return is_fine(answer) && answers_.add_bytes(target, answer.body);
}

Json ReportCollector::read_list(std::string_view address, const TargetParameters& parameters, std::string_view what) {
  Json items = Json::array();
  uint64_t total = 0;
  while (items.size() < kMostReportRows) {
    TargetParameters page = parameters;
    page.emplace_back("from", to_text(items.size()));
    page.emplace_back("limit", to_text(std::min(kPage, kMostReportRows - items.size())));
    const auto list = look(page_target(address, page));
    if (!list || !list->contains("items") || !list->at("items").is_array()) break;
    total = list->value("total", uint64_t{0});
    const size_t before = items.size();
    for (const Json& item : list->at("items")) items.push_back(item);
    if (items.size() == before || items.size() >= total) break;
  }
  if (items.size() < total) note(concat("The first ", items.size(), " of ", total, " ", what, " are here."));
  return items;
}

Json ReportCollector::keep_list(std::string_view address, const TargetParameters& parameters, std::string_view what) {
  const std::string target = page_target(address, parameters);
  if (answers_.has(target)) return Json::array();
  Json items = read_list(address, parameters, what);
  const Json whole = {{"from", 0}, {"limit", items.size()}, {"total", items.size()}, {"items", items}};
  if (!answers_.add_json(target, to_json_text(whole))) note(concat("The ", what, " did not fit."));
  return items;
}

void ReportCollector::keep_graph(const ReportedDump& dump, bool is_pair) {
  const auto target = [&dump](std::string_view open) {
    return page_target("/api/graph", {{"dump", dump.side}, {"open", std::string(open)}});
  };
  const double before = static_cast<double>(answers_.bytes()) / static_cast<double>(answers_.most_bytes());
  const auto first = keep(target("auto"));
  for (const std::string_view by : kColours) keep_bytes(page_target("/api/heat", {{"dump", dump.side}, {"by", std::string(by)}}));
  for (const std::string_view by : kPairColours) {
    if (is_pair) keep_bytes(page_target("/api/heat", {{"dump", dump.side}, {"by", std::string(by)}}));
  }
  if (!first) return note(concat("The graph of ", dump.name, " is not here."));
  if (shown_ops(*first) >= dump.ops) {
    whole_graphs_.insert(dump.side);
  } else if (dump.ops > kMostOpenOps || !keep(target("all"), before + kGraphs)) {
    note(concat("Groups of the graph of ", dump.name, " do not open here."));
  }
}

void ReportCollector::keep_graph_of(const ReportedDump& dump, uint64_t op) {
  if (whole_graphs_.contains(dump.side)) return;
  keep(page_target("/api/graph", {{"dump", dump.side}, {"open", "auto"}, {"op", to_text(op)}}), kLinks);
}

void ReportCollector::keep_op(const ReportedDump& dump, uint64_t op) {
  keep(page_target(concat("/api/op/", op), {{"dump", dump.side}}));
  const std::string number = to_text(op);
  // A whole table has them.
  if (dump.records <= kMostReportRows || dump.steps.empty()) return;
  const TargetParameters broken = {{"dump", dump.side}, {"op", number}, {"where", std::string(kNotFinite)}};
  const Json rows = keep_list("/api/records", broken, "records with NaN or Inf of an op");
  int64_t step = dump.steps.size() < 2 ? dump.steps.front() : dump.steps.back();
  if (dump.steps.size() > 1 && !rows.empty()) step = rows.front().value("step", step);
  keep_list("/api/records", {{"dump", dump.side}, {"op", number}, {"step", to_text(step)}}, "records of an op");
}

bool ReportCollector::keep_tensor(const ReportedDump& dump, uint64_t record) {
  const std::string address = concat("/api/record/", record);
  const std::string target = page_target(address, {{"dump", dump.side}});
  const auto known = answers_.has(target) ? kept(target) : keep(target);
  if (!known) return false;
  keep(page_target(address + "/histogram", {{"dump", dump.side}, {"bins", "64"}}));
  if (!known->value("has_data", false) || !known->contains("shape")) return true;
  for (const std::string_view what : {"nonfinite", "largest", "smallest"}) {
    keep(page_target(address + "/find", {{"dump", dump.side}, {"what", std::string(what)}}));
  }
  return keep_slice(address + "/slice", {{"dump", dump.side}}, known->at("shape"));
}

bool ReportCollector::keep_slice(const std::string& address, TargetParameters parameters, const Json& shape) {
  std::vector<int64_t> sizes;
  for (const Json& size : shape) {
    if (!size.is_number_integer() || size.get<int64_t>() <= 0) return true;
    sizes.push_back(size.get<int64_t>());
  }
  const ShownPart part = first_shown(sizes);
  for (const auto& [name, value] : {std::pair("at", part.at), {"rows", part.rows}, {"cols", part.columns}}) {
    parameters.emplace_back(name, value);
  }
  parameters.emplace_back("reduce", "absmax");
  const std::string target = page_target(address, parameters);
  if (answers_.has(target)) return true;
  const Answer answer = ask_(target);
  if (!is_fine(answer)) return true;
  const auto small = small_slice(answer.body, kMostCells);
  return !small.ok() || answers_.add_bytes(target, *small);
}

void ReportCollector::keep_pair(uint64_t pair) {
  const std::string address = concat("/api/pair/", pair);
  const auto known = keep(address);
  if (!known || !known->contains("shape_a")) return;
  for (const std::string_view view : kPairViews) {
    keep_slice(address + "/slice", {{"of", std::string(view)}}, known->at("shape_a"));
    for (const std::string_view what : {"difference", "nonfinite", "largest"}) {
      keep(page_target(address + "/find", {{"of", std::string(view)}, {"what", std::string(what)}}));
    }
  }
  for (const auto& [member, side] : {std::pair("record_a", ""), {"record_b", "b"}}) {
    if (!known->contains(member) || !known->at(member).is_number_unsigned()) continue;
    ReportedDump dump;
    dump.side = side;
    const auto record = known->at(member).get<uint64_t>();
    keep_tensor(dump, record);
  }
}

bool ReportCollector::keep_series(const ReportedDump& dump, const std::string& op) {
  const std::string target = page_target("/api/series", {{"dump", dump.side}, {"op", op}, {"key", kSeriesKeys}});
  return answers_.has(target) || keep(target).has_value();
}

}  // namespace tensortap
