#include "cli/launch/exec_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/coverage_reasons.h"
#include "base/files.h"
#include "base/json.h"
#include "base/other_model.h"
#include "base/text.h"
#include "cli/live/running_sessions.h"
#include "cli/text/find_verdict.h"
#include "cli/text/member_text.h"
#include "find/value_source.h"
#include "query/compile_route.h"
#include "query/failed_op.h"
#include "read/dump_parts.h"
#include "read/open_dump.h"
#include "read/repair_dump.h"

namespace tensortap::cli {
namespace {

constexpr uint64_t kMostReportBytes = uint64_t{256} << 20;

// The time of a run in the name of its folder, "20251120200000" or "msit_dump_20251120_200000", as digits; "" of other names.
std::string time_of_run(std::string_view name) {
  constexpr std::string_view kMsit = "msit_dump_";
  std::string digits(name.starts_with(kMsit) ? name.substr(kMsit.size()) : name);
  if (name.starts_with(kMsit)) std::erase(digits, '_');
  return digits.size() == 14 && is_digits(digits) ? digits : "";
}

// The newest run in a folder where each has one called after its time; the folder itself where none has.
std::string newest_run(const std::string& folder) {
  const auto names = list_directory(folder);
  std::string newest;
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (time_of_run(name) > time_of_run(newest)) newest = name;
  }
  return newest.empty() ? folder : join_path(folder, newest);
}

bool is_report(std::string_view path) { return path.ends_with(".json"); }

// The folder of a dump, or the one that a report names.
std::string dump_folder(const std::string& dump) { return is_report(dump) ? parent_path(parent_path(dump)) : dump; }

// Where the layouts put the session's own report.
Json report_of(const std::string& folder) {
  if (is_report(folder)) {
    const auto text = read_file(folder, kMostReportBytes);
    auto report = text.ok() ? parse_json(*text, folder) : Result<Json>(text.status());
    return report.ok() && report->is_object() ? *std::move(report) : Json();
  }
  for (const char* file : {"run.json", ".dump_metadata/tensortap_run.json"}) {
    const auto text = read_file(join_path(folder, file), kMostReportBytes);
    if (!text.ok()) continue;
    if (auto report = parse_json(*text, file); report.ok() && report->is_object()) return *std::move(report);
  }
  if (path_exists(join_path(folder, "records.npy"))) return {};
  const auto dump = open_dump(newest_run(folder));
  if (!dump.ok()) return {};
  auto report = parse_json((*dump)->manifest(), folder);
  return report.ok() && report->is_object() && !report->empty() ? *std::move(report) : Json();
}

Json copy_of(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value == nullptr ? Json() : *value;
}

// From the files alone, of a process that did not come to its end.
void count_rows(const DumpIndex& dump, Json& summary) {
  std::set<int64_t> steps;
  for (const RecordRow& row : dump.rows()) steps.insert(row.step);
  summary["steps"] = steps.size();
  // Exception files of a tree lie beside the folder of its run; the report counts them.
  summary["records"] = std::max<uint64_t>(count_in(summary, "records"), dump.rows().size());
}

void look_into(const Terminal& terminal, const std::string& folder, Json& summary) {
  const auto dump = open_dump(folder);
  if (!dump.ok()) {
    terminal.warn(printable(dump.status().message()));
    return;
  }
  summary["layout"] = std::string((*dump)->layout());
  if (!summary["complete"].get<bool>()) count_rows(**dump, summary);
  if (summary["failed_op"].is_null()) summary["failed_op"] = failed_op(**dump);
  add_verdict(**dump, summary);
}

void add_note(Json& summary, std::string text) {
  if (!summary["notes"].is_array()) summary["notes"] = Json::array();
  summary["notes"].push_back(std::move(text));
}

Json summary_of(const Terminal& terminal, const DumpPart& part, const std::map<std::string, LeftReport>& left) {
  const std::string& dump = part.path;
  Json report = report_of(dump);
  const auto unfinished = report.is_null() ? left.find(dump) : left.end();
  if (unfinished != left.end()) {
    Result<Json> told = parse_json(unfinished->second.report, dump);
    if (told.ok() && told->is_object()) report = *std::move(told);
  }
  const std::string folder = dump_folder(dump);
  Json summary = {{"dump", folder}, {"part", part.name}, {"role", text_or_null(part.role)}};
  for (const char* key : {"layout", "source", "rank"}) summary[key] = copy_of(report, key);
  const Json* steps = member(report, "steps");
  summary["steps"] = steps != nullptr && steps->is_object() ? copy_of(*steps, "captured") : copy_of(report, "steps");
  for (const char* key : {"ops", "records", "bytes", "not_looked_at", "lost", "losses", "governor", "first_nonfinite", "not_counted",
                          kLeftOutByCondition, "trigger", "failed_op", "notes", "unmatched", "other_models"}) {
    summary[key] = copy_of(report, key);
  }
  if (const std::string route = compile_route_text(report); !route.empty()) add_note(summary, route);
  for (const char* key : {"origin", "harmless", "unwritten"}) summary[key] = nullptr;
  summary["complete"] = report.is_object() && report.value("complete", false) && unfinished == left.end();
  if (unfinished != left.end()) summary["unfinished"] = unfinished->second.error;
  // The rules of `find` decide what is wrong, here, too. A dump with nothing to judge is not read again.
  if (!summary["complete"].get<bool>() || is_to_judge(report)) look_into(terminal, folder, summary);
  return summary;
}

// "process_4711 (SpawnProcess-1)".
std::string title_of(const Json& process) { return part_title({"", text_in(process, "part"), text_in(process, "role")}); }

// The same where it is the only one.
std::string lone_title(const Json& process) {
  const std::string role = text_in(process, "role");
  return role.empty() ? "the process" : role;
}

// Counts of ops of several processes; each op is in each of them. A process that did not come to its end told none: it is among "unknown".
Json sum_of_ops(const std::vector<Json>& processes) {
  Json ops = {{"expected", uint64_t{0}},
              {"captured", uint64_t{0}},
              {"in_part", uint64_t{0}},
              {"not_captured", Json::array()},
              {"unknown", Json::array()}};
  for (const Json& process : processes) {
    const Json* one = member(process, "ops");
    if (one == nullptr) {
      ops["unknown"].push_back(title_of(process));
      continue;
    }
    for (const char* key : {"expected", "captured", "in_part"}) ops[key] = ops[key].get<uint64_t>() + count_in(*one, key);
    const Json* reasons = member(*one, "not_captured");
    if (reasons == nullptr || !reasons->is_array()) continue;
    for (const Json& reason : *reasons) ops["not_captured"].push_back(reason);
  }
  return ops;
}

// Null when one process does not say: unknown is no number.
Json sum_if_known(const std::vector<Json>& processes, const char* key) {
  uint64_t sum = 0;
  for (const Json& process : processes) {
    if (member(process, key) == nullptr) return {};
    sum += count_in(process, key);
  }
  return sum;
}

// The losses of all, by reason.
Json losses_of(const std::vector<Json>& processes) {
  Json all = Json::array();
  for (const Json& process : processes) {
    const Json* losses = member(process, "losses");
    for (const Json& loss : losses != nullptr && losses->is_array() ? *losses : Json::array()) {
      const auto known =
          std::ranges::find_if(all, [&loss](const Json& one) { return member_text(one, "reason") == member_text(loss, "reason"); });
      if (known == all.end()) {
        all.push_back(loss);
      } else {
        (*known)["count"] = count_in(*known, "count") + count_in(loss, "count");
      }
    }
  }
  return all;
}

// The models that a config names and that ran in no process: one that does not run in one may run in another.
Json other_models_of_all(const std::vector<Json>& processes) {
  Json others = copy_of(processes.front(), "other_models");
  for (const Json& process : processes) others = other_models_in_both(others, copy_of(process, "other_models"));
  return others;
}

// What no process had an op for.
Json unmatched_by_all(const std::vector<Json>& processes, const Json& other_models) {
  std::set<std::string> texts;
  for (const Json& other : other_models) texts.insert(member_text(other, "text"));
  Json unmatched(texts);
  std::vector<std::set<std::string>> lacking;  // lists may have 100,000 entries
  for (const Json& process : processes) {
    const std::vector<std::string> told = strings_in(process, "unmatched");
    lacking.emplace_back(told.begin(), told.end());
  }
  for (const std::string& text : strings_in(processes.front(), "unmatched")) {
    const auto lacks = [&text](const std::set<std::string>& told) { return told.contains(text); };
    if (!texts.contains(text) && std::ranges::all_of(lacking, lacks)) unmatched.push_back(text);
  }
  return unmatched;
}

// The memory that ops of all processes read although nothing was written to it.
Json unwritten_by_all(const std::vector<Json>& processes) {
  Json all = Json::array();
  for (const Json& process : processes) {
    const Json* reads = member(process, "unwritten");
    for (const Json& one : reads != nullptr && reads->is_array() ? *reads : Json::array()) all.push_back(one);
  }
  return all;
}

// The process whose non-finite value comes first in the program's own time; within a step one that made it itself.
const Json* first_bad(const std::vector<Json>& processes) {
  const Json* first = nullptr;
  for (const Json& process : processes) {
    const Json* value = member(process, "first_nonfinite");
    if (value == nullptr) continue;
    if (first == nullptr || first_value(process) < first_value(*first)) first = &process;
  }
  return first;
}

Json sum_of(const std::vector<Json>& processes, const std::string& out) {
  Json summary = processes.front();
  summary["dump"] = out;
  summary["ops"] = sum_of_ops(processes);
  summary["other_models"] = other_models_of_all(processes);
  summary["unmatched"] = unmatched_by_all(processes, summary["other_models"]);
  for (const char* key : {"records", "bytes", "not_looked_at", "lost", "not_counted", kLeftOutByCondition})
    summary[key] = sum_if_known(processes, key);
  summary["losses"] = losses_of(processes);
  uint64_t harmless = 0;
  for (const Json& process : processes) harmless += count_in(process, "harmless");
  summary["harmless"] = harmless;
  summary["unwritten"] = unwritten_by_all(processes);
  for (const Json& process : processes) {
    summary["steps"] = std::max(count_in(summary, "steps"), count_in(process, "steps"));
    summary["complete"] = summary["complete"].get<bool>() && process["complete"].get<bool>();
  }
  const Json* bad = first_bad(processes);
  summary["first_nonfinite"] = bad == nullptr ? Json() : bad->at("first_nonfinite");
  summary["origin"] = bad == nullptr ? Json() : bad->at("origin");
  if (bad != nullptr) add_note(summary, concat("the non-finite value is in ", title_of(*bad), ": ", bad->at("dump").get<std::string>()));
  summary["processes"] = processes;
  return summary;
}

// The parts of a shared tree, one for each rank, that have a separate report.
std::vector<std::string> rank_trees(const std::string& out) {
  std::vector<std::string> folders;
  const auto names = list_directory(out);
  if (!names.ok()) return folders;
  for (const std::string& name : *names) {
    if (name.starts_with("rank_") && path_exists(join_path(out, name + "/.dump_metadata"))) folders.push_back(join_path(out, name));
  }
  return folders;
}

// The parts of a run without a report, because their processes did not reach their end: the folders of AscendCL's devices, those of msit's
// processes. `reports` are the names of the reports.
std::vector<std::string> untold_parts(const std::string& run, const std::vector<std::string>& reports) {
  const std::string tensors = join_path(run, "tensors");
  const bool is_msit = is_directory(tensors);
  const std::string& folder = is_msit ? tensors : run;
  std::vector<std::string> parts;
  const auto names = list_directory(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string teller = concat(is_msit ? name.substr(name.find('_') + 1) : name, ".");
    const auto tells_of = [&](const std::string& report) { return report.starts_with(teller); };
    if ((is_msit || is_digits(name)) && std::ranges::none_of(reports, tells_of)) parts.push_back(join_path(folder, name));
  }
  return parts;
}

// The results of processes in a tree of AscendCL or msit in this run: a report for each model of each, or the parts without a report.
std::vector<std::string> reports_in(const std::string& tree, const std::string& since) {
  std::vector<std::string> reports;
  const auto runs = list_directory(tree);
  for (const std::string& name : runs.ok() ? *runs : std::vector<std::string>()) {
    const std::string time = time_of_run(name);
    if (time.empty() || time < since) continue;
    const std::string run = join_path(tree, name);
    const auto told = list_directory(join_path(run, ".tensortap"));
    const std::vector<std::string> names = told.ok() ? *told : std::vector<std::string>();
    for (const std::string& report : names) {
      if (is_report(report)) reports.push_back(join_path(join_path(run, ".tensortap"), report));
    }
    const std::vector<std::string> untold = untold_parts(run, names);
    reports.insert(reports.end(), untold.begin(), untold.end());
  }
  return reports;
}

// Whether a folder of this name in a tree is a run's or a rank's.
bool names_run(std::string_view name) { return is_digits(name) || !time_of_run(name).empty() || name.starts_with("rank_"); }

// Whether a tree itself has runs or ranks, and not only unrelated dumps somewhere below it.
bool holds_runs(const std::string& tree, const Result<FoundDump>& found) {
  if (found.ok() && found->folder != tree) return names_run(split(std::string_view(found->folder).substr(tree.size() + 1), '/').front());
  const auto names = list_directory(tree);
  return found.ok() || (found.status().code() == StatusCode::kInvalidArgument && names.ok() && std::ranges::any_of(*names, names_run));
}

// The tree that the processes share, and those of further models in it.
std::vector<std::string> dumps_in_trees(const std::string& out, const std::string& since) {
  std::vector<std::string> trees = {out};
  if (const auto names = list_directory(out); names.ok()) {
    for (const std::string& name : *names) {
      if (name.starts_with("model_")) trees.push_back(join_path(out, name));
    }
  }
  std::vector<std::string> folders;
  for (const std::string& tree : trees) {
    std::vector<std::string> ranks = rank_trees(tree);
    if (ranks.empty()) ranks = reports_in(tree, since);
    folders.insert(folders.end(), ranks.begin(), ranks.end());
    if (ranks.empty() && holds_runs(tree, locate_dump(tree))) folders.push_back(tree);
  }
  return folders;
}

// "a", "a and 2 more".
std::string names_text(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front() : concat(names.front(), " and ", names.size() - 1, " more");
}

// Whether a session still writes the dump in this folder.
bool runs_in(const std::string& folder) {
  return std::ranges::any_of(sessions_in(folder), [&folder](const RunningSession& session) { return session.dump == folder; });
}

// Of dumps whose processes did not come to their end; repair is proposed where it would do something.
std::string incomplete_text(const std::vector<Json>& processes, const std::string& out) {
  std::vector<std::string> killed;
  std::vector<std::string> running;
  std::vector<std::string> unfinished;
  std::string error;
  bool mends = false;
  for (const Json& process : processes) {
    if (process["complete"].get<bool>()) continue;
    const std::string folder = process["dump"].get<std::string>();
    const bool ended = member(process, "unfinished") != nullptr;
    if (ended && error.empty()) error = process["unfinished"].get<std::string>();
    (ended ? unfinished : runs_in(folder) ? running : killed).push_back(processes.size() == 1 ? lone_title(process) : title_of(process));
    const auto parts = repair_parts(folder, true);
    mends = mends || (parts.ok() && std::ranges::any_of(*parts, [](const RepairedPart& part) { return !part.report.actions.empty(); }));
  }
  std::string text;
  for (const auto& [names, what] : {std::pair{&killed, std::string("did not come to its end")},
                                    {&running, std::string("still runs")},
                                    {&unfinished, concat("ended and could not finish the dump (", error, ")")}}) {
    if (!names->empty()) text += concat(text.empty() ? "" : "; ", names_text(*names), " ", what);
  }
  text += ": the dump has everything captured so far";
  if (mends) text += concat("; `tensortap repair ", out, "` makes the dump whole");
  return text;
}

}  // namespace

std::vector<std::string> process_dumps(const std::string& out, bool one_tree, const std::string& since, const std::string& exec) {
  std::vector<std::string> dumps = one_tree ? dumps_in_trees(out, since) : dump_parts(out);
  std::erase_if(dumps, [&exec](const std::string& dump) {
    const std::string of = member_text(report_of(dump), "exec");
    return !of.empty() && of != exec;
  });
  return dumps;
}

Json summarise_dumps(const Terminal& terminal, const std::vector<std::string>& dumps, const std::string& out,
                     const std::map<std::string, LeftReport>& left) {
  if (dumps.empty()) return {{"dump", nullptr}};
  std::vector<Json> processes;
  for (const std::string& dump : dumps) processes.push_back(summary_of(terminal, part_at(out, dump), left));
  Json summary = processes.size() == 1 ? processes.front() : sum_of(processes, out);
  if (processes.size() == 1 && is_report(dumps.front())) summary["dump"] = out;
  for (const char* key : {"part", "role"}) summary.erase(key);
  if (!summary["complete"].get<bool>()) summary["incomplete"] = incomplete_text(processes, out);
  return summary;
}

}  // namespace tensortap::cli
