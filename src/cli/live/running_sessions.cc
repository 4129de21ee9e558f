#include "cli/live/running_sessions.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/process_role.h"
#include "base/running_captures.h"
#include "base/text.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

constexpr int kDeepest = 2;  // folders below a job's: DUMP/rank_1/model_2
constexpr size_t kMostFolders = 10'000;

std::string text_in(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

ProcessIdentity process_in(const Json& object) {
  return {count_in(object, "pid"), count_in(object, "process_start"), text_in(object, "pid_space")};
}

Json identity_json(const ProcessIdentity& process) {
  return {{"pid", process.number}, {"process_start", process.start}, {"pid_space", process.space}};
}

// The command of a process says nothing that `program` does not, unless it is one word: the title of one that gave it to itself before the
// session opened.
std::string role_in(const Json& session, const std::string& program) {
  const Json* process = member(session, "process");
  if (process == nullptr || !process->is_object()) return {};
  Json named = *process;
  const std::string command = text_in(named, "command");
  if (command == program || command.find(' ') != std::string::npos) named.erase("command");
  return process_role(named);
}

// Nothing if the file does not exist, or if no session wrote it.
std::optional<RunningSession> read_session(const std::string& folder) {
  const std::string path = join_path(folder, kSessionFile);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  const Result<std::string> text = read_owned_file(path, info.st_uid);
  const Result<Json> json = text.ok() ? parse_json(*text, path) : Result<Json>(text.status());
  if (!json.ok() || !json->is_object()) return std::nullopt;
  RunningSession session;
  session.folder = folder;
  session.process = process_in(*json);
  session.owner = info.st_uid;
  session.exec = text_in(*json, "exec");
  session.program = text_in(*json, "program");
  session.role = role_in(*json, session.program);
  session.source = text_in(*json, "source");
  session.model = text_in(*json, "model");
  session.dump = text_in(*json, "dump");
  session.started = text_in(*json, "started");
  const Json* on = member(*json, "on");
  session.on = on == nullptr || !on->is_boolean() || on->get<bool>();
  session.records = count_in(*json, "records");
  if (const Json* steps = member(*json, "steps")) {
    session.steps_seen = count_in(*steps, "seen");
    session.steps_captured = count_in(*steps, "captured");
  }
  return session.process.number == 0 ? std::nullopt : std::optional(std::move(session));
}

// "session-PID-START-NUMBER": whose link it is, also where the dump is gone.
ProcessIdentity process_of_link(const std::string& name) {
  const std::vector<std::string_view> parts = split(name, '-');
  ProcessIdentity process;
  if (parts.size() < 4 || !parse_unsigned(parts[1], process.number) || !parse_unsigned(parts[2], process.start)) return {};
  return process;
}

// A dump without a report has its process in the session file alone.
void remove_left_over(const RunningSession& session) {
  const bool is_told = file_name(session.folder).starts_with(kSessionFolder) || path_exists(join_path(session.folder, "run.json"));
  for (const std::string_view name : {kSessionFile, kControlFile, kReplyFile}) {
    if (name != kSessionFile || is_told) ::unlink(join_path(session.folder, name).c_str());
  }
  if (!file_name(session.folder).starts_with(kSessionFolder)) return;
  ::rmdir(session.folder.c_str());
  ::rmdir(parent_path(session.folder).c_str());
}

std::string target_of(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<size_t>(size) == target.size()) return {};
  std::string path(target.data(), static_cast<size_t>(size));
  return file_name(path) == kSessionFile ? path : std::string();
}

void look_at_link(const std::string& path, RunningCaptures& found) {
  const std::string target = target_of(path);
  const ProcessIdentity named = process_of_link(file_name(path));
  const auto session = target.empty() ? std::nullopt : read_session(parent_path(target));
  const bool is_its = session.has_value() && session->process.number == named.number && session->process.start == named.start;
  if (is_its && is_running(session->process)) {
    found.sessions.push_back(*session);
    return;
  }
  // A dump that no longer exists cannot show that it belongs to another container, but then it has nothing to show either.
  if (!is_its && is_running(named)) return;
  ::unlink(path.c_str());
  if (is_its && session->owner == ::geteuid()) remove_left_over(*session);
}

void look_at_exec(const std::string& path, RunningCaptures& found) {
  const Result<std::string> text = read_owned_file(path, ::geteuid());
  const Result<Json> json = text.ok() ? parse_json(*text, path) : Result<Json>(text.status());
  if (!json.ok()) return;
  RunningExec exec{process_in(*json), text_in(*json, "exec"), text_in(*json, "program"), text_in(*json, "dump"), text_in(*json, "started")};
  if (is_running(exec.process)) {
    found.execs.push_back(std::move(exec));
  } else {
    ::unlink(path.c_str());
  }
}

void collect(const std::string& folder, int depth, size_t& left, std::vector<RunningSession>& found) {
  if (left == 0) return;
  --left;
  if (auto session = read_session(folder); session && is_running(session->process)) found.push_back(*std::move(session));
  if (depth == 0) return;
  const auto names = list_directory(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string below = join_path(folder, name);
    if (is_own_directory(below)) collect(below, depth - 1, left, found);
  }
}

}  // namespace

Json session_json(const RunningSession& session) {
  return {{"pid", session.process.number},
          {"program", session.program},
          {"role", session.role.empty() ? Json(nullptr) : Json(session.role)},
          {"source", session.source},
          {"model", session.model.empty() ? Json(nullptr) : Json(session.model)},
          {"dump", session.dump},
          {"started", session.started},
          {"state", session.on ? "on" : "off"},
          {"steps", {{"seen", session.steps_seen}, {"captured", session.steps_captured}}},
          {"records", session.records}};
}

RunningCaptures running_captures() {
  RunningCaptures found;
  for (const std::string& folder : running_folders()) {
    const auto names = list_directory(folder);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (name.starts_with(kSessionLink)) look_at_link(join_path(folder, name), found);
      if (name.starts_with(kExecFile)) look_at_exec(join_path(folder, name), found);
    }
  }
  std::ranges::stable_sort(found.sessions, {}, [](const RunningSession& session) { return session.process.number; });
  return found;
}

std::vector<RunningSession> sessions_in(const std::string& folder) {
  std::vector<RunningSession> found;
  size_t left = kMostFolders;
  collect(folder, kDeepest, left, found);
  return found;
}

void ExecNotice::tell(const RunningExec& exec) const {
  if (path_.empty()) return;
  Json told = identity_json(exec.process);
  told.update({{"exec", exec.name}, {"program", exec.program}, {"dump", exec.dump}, {"started", exec.started}});
  // If this fails, the earlier file stays: it is still true, only shorter.
  [[maybe_unused]] const Status status = write_file_atomically(path_, to_json_text(told) + "\n");
}

ExecNotice ExecNotice::leave(const RunningExec& exec) {
  const Result<std::string> folder = make_running_folder();
  ExecNotice notice(folder.ok() ? join_path(*folder, concat(kExecFile, exec.process.number)) : std::string());
  notice.tell(exec);
  return notice;
}

ExecNotice::~ExecNotice() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace tensortap::cli
