#include "cli/live/web_job.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/json_members.h"
#include "base/text.h"
#include "cli/live/running_sessions.h"
#include "cli/text/summary_text.h"
#include "find/ask_parts.h"
#include "find/find_report.h"
#include "ranks/ranks_report.h"
#include "read/open_dump.h"
#include "trace/record_row.h"

namespace tensortap::cli {
namespace {

// The row of a record, or nothing.
std::optional<size_t> row_named(const ServedDump& dump, const std::string& record) {
  RecordKey key;
  if (record.empty() || !parse_record_name(record, key)) return std::nullopt;
  const auto row = find_record(dump.index(), key);
  return row.ok() ? std::optional(*row) : std::nullopt;
}

// What of the page shows it: "#tensor?record=3"; "" when the dump does not have it.
std::string fragment_of(const ServedDump& dump, const RanksSentence& sentence) {
  if (sentence.record.empty() && sentence.op.empty()) return "#start";
  const std::string step = sentence.step ? concat("&step=", *sentence.step) : std::string();
  if (const auto row = row_named(dump, sentence.record)) {
    if (sentence.kind != RanksSentence::Kind::kNonFinite) return concat("#tensor?record=", *row);
    return concat("#graph?op=", dump.rows()[*row].op, step, "&flow=", *row);
  }
  const auto op = dump.op_named(sentence.op);
  return op ? concat("#graph?op=", *op, step) : std::string();
}

std::vector<DumpPart> parts_of(const std::string& path, const std::vector<JobDump>& dumps) {
  std::vector<DumpPart> parts;
  for (const JobDump& dump : dumps) parts.push_back(part_at(path, dump.path));
  return parts;
}

bool are_of_ranks(const std::vector<JobDump>& dumps) {
  std::set<std::optional<int64_t>> ranks;
  for (const JobDump& dump : dumps) ranks.insert(dump.rank);
  return ranks.size() > 1;
}

// What the page says of one process.
std::string text_of(const Json& part) {
  const Json* first = member(part, "first_nonfinite");
  if (const std::string problem = text_in(part, "problem"); !problem.empty()) return problem;
  std::string text = "no NaN and no Inf";
  if (first != nullptr) {
    text = nonfinite_text(*first);
  } else if (part.value("finds", false)) {
    text = "findings";
  } else if (saw_nothing(part)) {
    text = "nothing was looked at";
  } else if (is_partial(part)) {
    text = concat("not known: ", text_in(part, "not_known"));
  }
  const Json& reasons = part.at("dump").at("reasons");
  if (!reasons.empty()) text += concat("; incomplete: ", reasons.front().get<std::string>());
  return text;
}

}  // namespace

bool WebJob::is_job(const std::string& path) {
  const auto dumps = find_job_dumps(std::span(&path, 1));
  if (!dumps.ok() || dumps->size() < 2) return false;
  return are_of_ranks(*dumps) || sessions_in(path).empty();
}

Result<std::unique_ptr<WebJob>> WebJob::open(const std::string& path, const SourceFiles& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(auto dumps, find_job_dumps(std::span(&path, 1)));
  return std::unique_ptr<WebJob>(new WebJob(path, std::move(dumps), sources));
}

WebJob::WebJob(std::string path, std::vector<JobDump> dumps, SourceFiles sources)
    : path_(std::move(path)),
      dumps_(std::move(dumps)),
      parts_(parts_of(path_, dumps_)),
      has_ranks_(are_of_ranks(dumps_)),
      sources_(std::move(sources)),
      opened_(dumps_.size()),
      report_(std::async(std::launch::async, [this] { return look(); }).share()) {}

WebJob::~WebJob() {
  stop_ = true;
  report_.wait();
}

Result<Json> WebJob::look_at_parts() const {
  all_ = dumps_.size();
  const auto open = [this](const std::string& path) -> Result<std::unique_ptr<DumpIndex>> {
    if (stop_) return not_found("the server ends");
    ++done_;
    return open_dump(path);
  };
  const auto ask = [](const DumpIndex& dump) { return Result<Json>(find_report(dump, 1)); };
  const std::vector<PartAnswer> answers = ask_parts(parts_, {open, ask, has_finding});
  Json json = parts_answer_json(answers);
  json["sentence"] = parts_sentence(answers, "Findings", "No NaN and no Inf");
  return json;
}

Result<Json> WebJob::look() const {
  if (!has_ranks_) return look_at_parts();
  return ranks_report({{path_}, {}}, [this](size_t done, size_t all) {
    done_ = done;
    all_ = all;
    return !stop_;
  });
}

const Result<Json>* WebJob::report() const {
  return report_.wait_for(std::chrono::seconds(0)) == std::future_status::ready ? &report_.get() : nullptr;
}

const WebJob::Opened& WebJob::dump(size_t number) const {
  return opened_[number].get([&] { return WebAnswers::open(dumps_[number].path, "", sources_); });
}

std::vector<size_t> WebJob::dumps_of(const Json& report, int64_t rank) const {
  std::vector<size_t> numbers;
  for (const Json& one : report.at("ranks")) {
    if (one.at("rank") != rank) continue;
    const std::vector<std::string> paths = strings_in(one, "dumps");
    for (size_t number = 0; number < dumps_.size(); ++number) {
      if (std::ranges::find(paths, dumps_[number].path) != paths.end()) numbers.push_back(number);
    }
  }
  return numbers;
}

Json WebJob::link_to(const Json& report, const RanksSentence& sentence) const {
  if (!sentence.rank) return nullptr;
  for (const size_t number : dumps_of(report, *sentence.rank)) {
    const Opened& opened = dump(number);
    const std::string fragment = opened.ok() ? fragment_of(*(*opened)->dumps().front(), sentence) : std::string();
    if (!fragment.empty()) return concat("/dump/", number, "/", fragment);
  }
  return nullptr;
}

Json WebJob::sentences_json(const Json& report) const {
  Json list = Json::array();
  for (const RanksAnswer& answer : ranks_answers(report)) {
    Json json = {{"question", answer.question}, {"wrong", answer.is_wrong}, {"text", answer.sentence.text}};
    json["link"] = link_to(report, answer.sentence);
    json["examples"] = Json::array();
    for (const RanksSentence& one : answer.examples) json["examples"].push_back({{"text", one.text}, {"link", link_to(report, one)}});
    list.push_back(std::move(json));
  }
  return list;
}

Json WebJob::dumps_json(const Json* report) const {
  Json list = Json::array();
  for (size_t number = 0; number < dumps_.size(); ++number) {
    const DumpPart& part = parts_[number];
    list.push_back(
        {{"number", number}, {"name", part.path}, {"ranks", Json::array()}, {"part", part.name}, {"role", text_or_null(part.role)}});
  }
  if (report == nullptr) return list;
  for (const Json& rank : report->at("ranks")) {
    for (const size_t number : dumps_of(*report, rank.at("rank").get<int64_t>())) list[number]["ranks"].push_back(rank.at("rank"));
  }
  return list;
}

void WebJob::tell_parts(const Json& found, Json& json) const {
  json["summary"] = found.at("sentence");
  for (size_t number = 0; number < parts_.size(); ++number) {
    const Json& part = found.at("parts").at(number);
    json["parts"].push_back({{"number", number},
                             {"part", part.at("part")},
                             {"role", part.at("role")},
                             {"finds", part.at("finds")},
                             {"incomplete", part.at("dump").at("complete") == false},
                             {"records", part.at("dump").at("found").at("records")},
                             {"text", text_of(part)},
                             {"link", concat("/dump/", number, "/#start")}});
  }
}

Json WebJob::ranks_json() const {
  const Result<Json>* found = report();
  const bool is_ready = found != nullptr && found->ok();
  Json json = {{"state", is_ready           ? "ready"
                         : found == nullptr ? "running"
                                            : "failed"},
               {"done", done_.load()},
               {"all", all_.load()},
               {"error", nullptr},
               {"report", nullptr},
               {"summary", nullptr},
               {"answers", Json::array()},
               {"troubles", Json::array()},
               {"parts", Json::array()}};
  json["dumps"] = dumps_json(is_ready && has_ranks_ ? &**found : nullptr);
  if (found != nullptr && !found->ok()) json["error"] = found->status().message();
  if (!is_ready) return json;
  if (!has_ranks_) {
    tell_parts(**found, json);
    return json;
  }
  json["report"] = **found;
  json["summary"] = job_text(**found);
  json["troubles"] = job_troubles(**found);
  json["answers"] = sentences_.get([&] { return sentences_json(**found); });
  return json;
}

Result<tensortap::Answer> WebJob::answer(const WebRequest& request) const {
  const std::string& path = request.path();
  if (path != "/api/dump" && path != "/api/ranks") {
    if (path.starts_with("/api/")) return not_found(concat(quote(path), ": ask the dump of a rank, such as /dump/0", path));
    return not_found(concat(quote(path), ": no such address"));
  }
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"wait"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string waits, request.choice("wait", {"yes", "no"}));
  if (path == "/api/ranks") {
    if (waits == "yes") report_.wait();
    return json_answer(ranks_json());
  }
  return json_answer({{"version", 1},
                      {"complete", true},
                      {"dumps", Json::array()},
                      {"compare", nullptr},
                      {"sentences", Json::array()},
                      {"job", {{"name", path_}, {"dumps", dumps_.size()}, {"ranks", has_ranks_}}}});
}

tensortap::Answer WebJob::get(std::string_view target) const {
  size_t number = 0;
  std::string_view rest;
  if (split_dump_target(target, number, rest)) {
    if (number >= dumps_.size()) return error_answer(404, concat("dump ", number, ": the job has ", dumps_.size(), ", numbered from 0"));
    const Opened& opened = dump(number);
    return opened.ok() ? (*opened)->get(rest) : error_answer(opened.status());
  }
  const auto request = WebRequest::parse(target);
  if (!request.ok()) return error_answer(request.status());
  const auto found = answer(*request);
  return found.ok() ? *found : error_answer(found.status());
}

WebService WebJob::service() const {
  WebService service;
  service.get = [this](std::string_view target) { return get(target); };
  service.pages = dumps_.size();
  return service;
}

}  // namespace tensortap::cli
