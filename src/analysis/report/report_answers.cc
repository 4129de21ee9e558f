#include "report/report_answers.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "report/page_target.h"
#include "report/pair_lists.h"
#include "report/report_collector.h"
#include "serve/web_request.h"

namespace tensortap {
namespace {

constexpr size_t kMostTensors = 24;  // of each kind that matters
constexpr size_t kMostOnTheWay = 24;
constexpr uint64_t kMostCurves = 1000;
constexpr size_t kMostPairs = 24;
constexpr size_t kMostFilledRecords = 2000;
constexpr uint64_t kMostFilledElements = 200'000'000;  // of tensors that are read for their histograms
constexpr auto kBetweenQuestions = std::chrono::milliseconds(50);
// Shares of the room up to which a part is added: what comes later has room, too.
constexpr double kPairs = 0.25;  // of the table of pairs
constexpr double kTables = 0.6;
constexpr double kTensors = 0.85;
constexpr double kPictures = 0.5;  // of other tensors than those that matter
constexpr double kFilled = 0.97;
constexpr size_t kMostNotes = 12;
constexpr size_t kNotesBytes = size_t{64} << 10;
constexpr std::string_view kStartPage = "/api/dump";

std::optional<uint64_t> number_in(const Json& one, const char* name) {
  if (!one.is_object() || !one.contains(name) || !one.at(name).is_number_unsigned()) return std::nullopt;
  return one.at(name).get<uint64_t>();
}

std::string first_and_those_that_matter(uint64_t count) {
  return count == 0 ? "those that matter alone" : concat("the first ", count, " and those that matter");
}

// Adds one part after the other.
class ReportAnswers {
 public:
  ReportAnswers(const AskServer& ask, const ReportProgress& progress, EmbeddedAnswers& answers, const ReportChoice& choice)
      : ask_(ask), progress_(progress), answers_(answers), choice_(choice), collector_(ask, answers) {
    if (!choice.note.empty()) collector_.note(choice.note);
  }

  // The answer for the start page, whose sentences are followed; it is not added.
  Result<Json> add() {
    TENSORTAP_RETURN_IF_ERROR(wait_for_comparison());
    TENSORTAP_ASSIGN_OR_RETURN(Json start, ask_for("/api/dump"));
    read_dumps(start);
    answers_.hold_back(script_safe(to_json_text(start)).size() + kNotesBytes);
    each_dump("graphs", [this](ReportedDump& dump) { collector_.keep_graph(dump, is_pair()); });
    each_dump("tables", [this](ReportedDump& dump) { keep_tables(dump); });
    if (is_pair()) keep_comparison();
    if (start.contains("sentences")) {
      for (const Json& sentence : start.at("sentences")) follow(sentence);
    }
    each_dump("tensors", [this](ReportedDump& dump) { keep_tensors(dump); });
    each_dump("curves", [this](ReportedDump& dump) { keep_curves(dump); });
    each_dump("ops", [this](ReportedDump& dump) { fill_ops(dump); });
    each_dump("records", [this](ReportedDump& dump) { fill_records(dump); });
    return start;
  }
  [[nodiscard]] const ReportCollector& collector() const { return collector_; }

 private:
  [[nodiscard]] bool is_pair() const { return dumps_.size() > 1; }
  void each_dump(std::string_view stage, const std::function<void(ReportedDump&)>& add_part) {
    for (ReportedDump& dump : dumps_) {
      tell(stage, 0, 0);
      add_part(dump);
    }
  }
  void tell(std::string_view stage, uint64_t done, uint64_t total) const {
    if (progress_) progress_(stage, done, total);
  }

  [[nodiscard]] Result<Json> ask_for(const std::string& target) const;
  [[nodiscard]] Status wait_for_comparison() const;
  void read_dumps(const Json& start);
  void keep_tables(ReportedDump& dump);
  void keep_comparison();
  void follow(const Json& sentence);
  void follow_way(const ReportedDump& dump, const std::string& record);
  void keep_tensors(const ReportedDump& dump);
  void keep_curves(const ReportedDump& dump);
  void fill_ops(const ReportedDump& dump);
  void fill_records(const ReportedDump& dump);

  const AskServer& ask_;
  const ReportProgress& progress_;
  EmbeddedAnswers& answers_;
  const ReportChoice& choice_;
  ReportCollector collector_;
  std::vector<ReportedDump> dumps_;
};

Result<Json> ReportAnswers::ask_for(const std::string& target) const {
  const Answer answer = ask_(target);
  TENSORTAP_ASSIGN_OR_RETURN(Json json, parse_json(answer.body, target));
  if (answer.status == 200 && json.is_object()) return json;
  return Status(StatusCode::kInternal, json.is_object() ? json.value("error", "the dump gave no answer") : "the dump gave no answer");
}

Status ReportAnswers::wait_for_comparison() const {
  while (true) {
    const auto state = collector_.look("/api/compare");
    if (!state || !state->is_object()) return {};  // of one dump
    const std::string word = state->value("state", "");
    if (word == "failed") return corrupt(state->value("error", "the dumps cannot be compared"));
    if (word != "running") return {};
    tell("comparing", number_in(*state, "done").value_or(0), number_in(*state, "all").value_or(0));
    std::this_thread::sleep_for(kBetweenQuestions);
  }
}

void ReportAnswers::read_dumps(const Json& start) {
  if (!start.contains("dumps") || !start.at("dumps").is_array()) return;
  for (const Json& one : start.at("dumps")) {
    ReportedDump dump;
    dump.side = dumps_.empty() ? "" : "b";
    dump.name = one.value("name", "");
    dump.ops = number_in(one, "ops").value_or(0);
    if (dumps_.size() < choice_.ops.size()) dump.chosen_ops = choice_.ops[dumps_.size()];
    dump.records = number_in(one, "records").value_or(0);
    dump.has_data = one.value("has_data", true);
    for (const Json& step : one.contains("steps") ? one.at("steps") : Json::array()) {
      if (step.is_number_integer()) dump.steps.push_back(step.get<int64_t>());
    }
    dumps_.push_back(std::move(dump));
  }
}

void ReportAnswers::keep_tables(ReportedDump& dump) {
  const std::string what = concat("records of ", dump.name);
  dump.rows = collector_.keep_list("/api/records", {{"dump", dump.side}}, what);
  if (dump.records <= kMostReportRows) return;
  // Orders and filters that the page cannot make of the first records.
  for (const TargetParameters& parameters : {TargetParameters{{"dump", dump.side}, {"where", std::string(kNotFinite)}},
                                             TargetParameters{{"dump", dump.side}, {"sort", "-absmax"}}}) {
    if (collector_.has_room(kTables)) collector_.keep_list("/api/records", parameters, what);
  }
}

void ReportAnswers::keep_comparison() {
  collector_.keep("/api/compare");
  PairLists lists(static_cast<uint64_t>(kPairs * static_cast<double>(answers_.most_bytes())));
  for (const char* only : {"first", "differing", "all"}) {
    for (const char* sort : {"own", "error", "order"}) {
      const TargetParameters parameters = {{"only", only}, {"sort", sort}};
      lists.add(page_target("/api/pairs", parameters), collector_.read_list("/api/pairs", parameters, "pairs of records"));
    }
  }
  if (!lists.keep(answers_) || lists.left_out() > 0) collector_.note("Not all pairs of records fit in here.");
  for (const char* of : {"a", "b"}) collector_.keep_list("/api/unpaired", {{"of", of}}, concat("values without a partner of ", of));
  const std::vector<uint64_t> pairs = lists.first(kMostPairs);
  for (size_t i = 0; i < pairs.size() && collector_.has_room(kTensors); ++i) {
    tell("pairs", i, pairs.size());
    collector_.keep_pair(pairs[i]);
  }
}

void ReportAnswers::follow(const Json& sentence) {
  const std::string link =
      sentence.is_object() && sentence.contains("link") && sentence.at("link").is_string() ? sentence.value("link", "") : "";
  if (!link.starts_with('#') || !collector_.has_room(kTensors)) return;
  const auto place = WebRequest::parse(concat("/", std::string_view(link).substr(1)));
  if (!place.ok() || place->parts().empty()) return;
  const bool of_b = place->text("dump") == "b";
  if (of_b && dumps_.size() < 2) return;
  const ReportedDump& dump = dumps_[of_b ? 1 : 0];
  const std::string& view = place->parts().front();
  uint64_t number = 0;
  if (parse_unsigned(place->text("op"), number) && view != "table") {
    collector_.keep_op(dump, number);
    collector_.keep_graph_of(dump, number);
  }
  if (view == "graph") {
    if (place->has("flow")) follow_way(dump, place->text("flow"));
    if (place->has("step")) {
      const std::string by = place->has("heat") ? place->text("heat") : "nonfinite";
      collector_.keep_bytes(page_target("/api/heat", {{"dump", dump.side}, {"by", by}, {"step", place->text("step")}}));
    }
  } else if (view == "table") {
    TargetParameters parameters = {{"dump", dump.side}};
    for (const char* name : {"where", "op", "type", "step", "slot", "sort"}) parameters.emplace_back(name, place->text(name));
    collector_.keep_list("/api/records", parameters, "records that a sentence links to");
  } else if (view == "tensor" && parse_unsigned(place->text("record"), number)) {
    collector_.keep_tensor(dump, number);
  } else if (view == "pair" && parse_unsigned(place->text("pair"), number)) {
    collector_.keep_pair(number);
  } else if (view == "steps") {
    collector_.keep_series(dump, place->text("op"));
  }
}

void ReportAnswers::follow_way(const ReportedDump& dump, const std::string& record) {
  uint64_t number = 0;
  if (!parse_unsigned(record, number)) return;
  collector_.keep_tensor(dump, number);
  const auto flow = collector_.keep(page_target("/api/flow", {{"dump", dump.side}, {"record", record}}));
  if (!flow || !flow->is_object()) return;
  for (const auto& [member, add_one] :
       {std::pair<const char*, std::function<void(uint64_t)>>("ops", [&](uint64_t op) { collector_.keep_op(dump, op); }),
        std::pair<const char*, std::function<void(uint64_t)>>("records", [&](uint64_t one) { collector_.keep_tensor(dump, one); })}) {
    if (!flow->contains(member) || !flow->at(member).is_array()) continue;
    const Json& list = flow->at(member);
    for (size_t i = 0; i < std::min(list.size(), kMostOnTheWay); ++i) {
      if (list[i].is_number_unsigned()) add_one(list[i].get<uint64_t>());
    }
  }
}

void ReportAnswers::keep_tensors(const ReportedDump& dump) {
  for (const auto& [name, value] : {std::pair("where", std::string(kNotFinite)), {"sort", "-absmax"}}) {
    const auto list = collector_.look(page_target("/api/records", {{"dump", dump.side}, {name, value}, {"limit", to_text(kMostTensors)}}));
    if (!list || !list->contains("items")) continue;
    uint64_t done = 0;
    for (const Json& row : list->at("items")) {
      if (!collector_.has_room(kTensors)) return;
      tell("tensors", done++, kMostTensors);
      if (const auto record = number_in(row, "record")) collector_.keep_tensor(dump, *record);
      if (const auto op = number_in(row, "op_id")) collector_.keep_op(dump, *op);
    }
  }
}

void ReportAnswers::keep_curves(const ReportedDump& dump) {
  if (dump.steps.size() < 2) return;
  const auto trends = collector_.keep(page_target("/api/trends", {{"dump", dump.side}}));
  if (trends && trends->is_object() && trends->contains("trends")) {
    for (const Json& trend : trends->at("trends")) {
      const auto op = number_in(trend, "op_id");
      if (op && collector_.has_room(kTensors)) collector_.keep_series(dump, to_text(*op));
    }
  }
  for (uint64_t op = 0; op < dump.ops; ++op) {
    if (!dump.is_chosen(op)) continue;
    if (op >= kMostCurves || !collector_.has_room(kTensors)) {
      return collector_.note(concat("Curves over the steps are here of the first ", op, " of ", dump.ops, " ops of ", dump.name, "."));
    }
    tell("curves", op, dump.ops);
    collector_.keep_series(dump, to_text(op));
  }
}

void ReportAnswers::fill_ops(const ReportedDump& dump) {
  for (uint64_t op = 0; op < dump.ops; ++op) {
    if (!dump.is_chosen(op)) continue;
    if (!collector_.has_room(kFilled)) {
      return collector_.note(concat("Of ", op, " of ", dump.ops, " ops of ", dump.name, " more is here than what the graph shows."));
    }
    tell("ops", op, dump.ops);
    collector_.keep(page_target(concat("/api/op/", op), {{"dump", dump.side}}));
  }
}

void ReportAnswers::fill_records(const ReportedDump& dump) {
  const size_t count = std::min(dump.rows.size(), kMostFilledRecords);
  size_t filled = 0;
  for (; filled < count && collector_.has_room(kFilled); ++filled) {
    tell("records", filled, count);
    if (const auto record = number_in(dump.rows[filled], "record")) {
      collector_.keep(page_target(concat("/api/record/", *record), {{"dump", dump.side}}));
    }
  }
  if (filled < dump.rows.size()) {
    collector_.note(concat("Records of ", dump.name, " that can be opened: ", first_and_those_that_matter(filled), "."));
  }
  uint64_t elements = 0;
  for (size_t i = 0; i < filled; ++i) {
    const auto record = number_in(dump.rows[i], "record");
    if (!record) continue;
    elements += std::min(number_in(dump.rows[i], "numel").value_or(0), kMostFilledElements);
    tell("tensors", i, filled);
    if (elements > kMostFilledElements || !collector_.has_room(kPictures) || !collector_.keep_tensor(dump, *record)) {
      if (dump.has_data) collector_.note(concat("Records of ", dump.name, " with their values: ", first_and_those_that_matter(i), "."));
      return;
    }
  }
}

}  // namespace

Result<AddedAnswers> add_report_answers(const AskServer& ask, const std::string& made, const ReportProgress& progress,
                                        EmbeddedAnswers& answers, const ReportChoice& choice) {
  ReportAnswers report(ask, progress, answers, choice);
  TENSORTAP_ASSIGN_OR_RETURN(Json start, report.add());
  std::vector<std::string> notes = report.collector().notes();
  std::vector<std::string> sources(report.collector().sources().begin(), report.collector().sources().end());
  if (notes.size() > kMostNotes) {
    const size_t more = notes.size() - kMostNotes;
    notes.resize(kMostNotes);
    notes.push_back(concat("And ", more, " more lists are cut."));
  }
  const std::string cut = join(notes, " ");
  for (Json& dump : start["dumps"]) dump.update({{"changed", false}, {"live", false}});  // the report no longer reads its files
  start["report"] = {{"made", made}, {"cut", cut.empty() ? Json(nullptr) : Json(cut)}, {"sources", sources}};
  answers.hold_back(0);
  if (!answers.add_json(kStartPage, to_json_text(start))) return exhausted("the start page of the report does not fit");
  return AddedAnswers{std::move(notes), std::move(sources)};
}

}  // namespace tensortap
