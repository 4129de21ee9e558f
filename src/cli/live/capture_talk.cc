#include "cli/live/capture_talk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/running_captures.h"
#include "base/text.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

constexpr int64_t kBetweenLooks = 20'000'000;
constexpr int kMostAncestors = 64;

void rest_a_moment() {
  const timespec between{0, kBetweenLooks};
  nanosleep(&between, nullptr);
}

bool descends_from(uint64_t process, uint64_t ancestor) {
  for (int i = 0; i < kMostAncestors && process > 1; ++i) {
    const auto facts = process_facts(process);
    if (!facts) return false;
    process = facts->parent;
    if (process == ancestor) return true;
  }
  return false;
}

// The command line of a process, for a shell.
std::string command_of(uint64_t number) {
  const std::string command = command_line_of(number);
  return command.empty() ? "PROGRAM" : printable(command);
}

Status not_ours(uint64_t number) {
  return not_found(
      fmt::format("process {} was not started with tensortap, and nothing can be put into a running program without the danger of stopping "
                  "it; start it "
                  "as `tensortap exec --idle -- {}`",
                  number, command_of(number)));
}

Status anothers(std::string_view what, uid_t owner) {
  return invalid_argument(fmt::format("{} belongs to another user (number {}), who alone can control it", what, owner));
}

// An `exec` that has just been started and has left no notice yet.
bool is_this_command(uint64_t number) {
  std::error_code own;
  std::error_code other;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", own);
  const auto there = std::filesystem::read_symlink(concat("/proc/", number, "/exe"), other);
  return !own && !other && here == there;
}

// Sessions of a process and of those that it started, and whether it is, or runs under, an `exec`.
struct Relatives {
  std::vector<RunningSession> sessions;
  bool runs_under_exec = false;
};

Relatives relatives_of(uint64_t number) {
  const RunningCaptures found = running_captures();
  Relatives relatives;
  relatives.runs_under_exec = is_this_command(number);
  std::set<std::string> names;
  for (const RunningExec& exec : found.execs) {
    const bool is_it = exec.process.number == number;
    if (is_it) names.insert(exec.name);
    relatives.runs_under_exec = relatives.runs_under_exec || is_it || descends_from(number, exec.process.number);
  }
  for (const RunningSession& session : found.sessions) {
    const uint64_t own = session.process.number;
    if (own == number || names.contains(session.exec) || descends_from(own, number)) relatives.sessions.push_back(session);
  }
  // A process that has a session is meant itself, whatever it started.
  const auto is_itself = [&](const RunningSession& session) { return session.process.number == number; };
  if (std::ranges::any_of(relatives.sessions, is_itself)) std::erase_if(relatives.sessions, std::not_fn(is_itself));
  return relatives;
}

Result<std::vector<RunningSession>> sessions_of_process(uint64_t number, int64_t until_ns, std::string& pending) {
  for (;;) {
    const auto facts = process_facts(number);
    if (!facts || facts->ended) {
      return not_found(fmt::format("process {} is gone, or never was; `tensortap ps` lists the captures that run", number));
    }
    Relatives relatives = relatives_of(number);
    if (!relatives.sessions.empty()) return std::move(relatives.sessions);
    if (facts->owner != ::geteuid()) return anothers(fmt::format("process {}", number), facts->owner);
    if (!relatives.runs_under_exec) return not_ours(number);
    if (monotonic_ns() >= until_ns) break;
    rest_a_moment();
  }
  pending = fmt::format("process {}", number);
  return std::vector<RunningSession>();
}

bool is_inside(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Result<std::vector<RunningSession>> sessions_of_dump(const std::string& target, int64_t until_ns, std::string& pending) {
  std::error_code error;
  std::string folder = std::filesystem::canonical(target, error).string();
  if (error || !is_directory(folder)) {
    return not_found(fmt::format("{} is no process and no folder; `tensortap ps` lists the captures that run", quote(target)));
  }
  for (;;) {
    std::vector<RunningSession> found = sessions_in(folder);
    if (!found.empty()) return found;
    const RunningCaptures running = running_captures();
    const bool comes = std::ranges::any_of(running.execs, [&](const RunningExec& exec) { return is_inside(exec.dump, folder); });
    if (!comes) return not_found(fmt::format("no capture runs in {}: it has ended, or it is no dump", quote(target)));
    if (monotonic_ns() >= until_ns) break;
    rest_a_moment();
  }
  pending = fmt::format("the program that dumps into {}", quote(target));
  return std::vector<RunningSession>();
}

// One `tensortap set` at a time talks to a session. Gives way to the other for as long as it may wait; then both talk.
class Turn {
 public:
  Turn(const RunningSession& session, int64_t until_ns) {
    Result<File> file = File::open(join_path(session.folder, kSessionFile), O_RDONLY | O_NOFOLLOW);
    if (!file.ok()) return;
    file_ = *std::move(file);
    while (flock(file_.fd(), LOCK_EX | LOCK_NB) != 0 && monotonic_ns() < until_ns) rest_a_moment();
  }

 private:
  File file_;
};

// A file beside the session's, as an object; null where there is none of the owner's.
Json read_beside(const RunningSession& session, std::string_view name) {
  const auto text = read_owned_file(join_path(session.folder, name), session.owner);
  Result<Json> json = text.ok() ? parse_json(*text, "") : Result<Json>(text.status());
  return json.ok() && json->is_object() ? *std::move(json) : Json();
}

// What a reply says of a request, which may have waited when a later one came; null = nothing.
const Json* outcome_in(const Json& reply, uint64_t seq) {
  const auto is_of = [seq](const Json& outcome) {
    const Json* told = member(outcome, "seq");
    return told != nullptr && *told == seq;
  };
  if (is_of(reply)) return &reply;
  const Json* before = member(reply, "before");
  if (before == nullptr || !before->is_array()) return nullptr;
  const auto found = std::ranges::find_if(*before, is_of);
  return found == before->end() ? nullptr : &*found;
}

// The requests that the session has not answered yet, without those before them.
Json unanswered(const RunningSession& session) {
  Json control = read_beside(session, kControlFile);
  const uint64_t waiting = count_in(control, "seq");
  if (waiting == 0 || outcome_in(read_beside(session, kReplyFile), waiting) != nullptr) return Json::array();
  Json requests = list_in(control, "before");
  control.erase("before");
  requests.push_back(std::move(control));
  return requests;
}

std::optional<ControlAnswer> read_answer(const RunningSession& session, uint64_t seq) {
  const Json json = read_beside(session, kReplyFile);
  const Json* const outcome = outcome_in(json, seq);
  if (outcome == nullptr) return std::nullopt;
  ControlAnswer answer;
  const Json* accepted = member(*outcome, "accepted");
  answer.kind = accepted != nullptr && *accepted == true ? ControlAnswer::Kind::kAccepted : ControlAnswer::Kind::kRefused;
  answer.reason = member_text(*outcome, "reason");
  if (const Json* step = member(json, "from_step"); step != nullptr && step->is_number_integer()) answer.from_step = step->get<int64_t>();
  answer.reply = json;
  return answer;
}

ControlAnswer wait_for_answer(const RunningSession& session, uint64_t seq, int64_t until_ns) {
  for (;;) {
    if (auto answer = read_answer(session, seq)) return *std::move(answer);
    // It may have answered and ended since.
    if (!is_running(session.process) || !path_exists(join_path(session.folder, kSessionFile))) {
      ControlAnswer answer;
      answer.kind = ControlAnswer::Kind::kEnded;
      return answer;
    }
    if (monotonic_ns() >= until_ns) return {};
    rest_a_moment();
  }
}

}  // namespace

Result<std::vector<RunningSession>> find_sessions(const std::string& target, int64_t until_ns, std::string& pending) {
  uint64_t number = 0;
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<RunningSession> sessions, is_digits(target) && parse_unsigned(target, number)
                                                                       ? sessions_of_process(number, until_ns, pending)
                                                                       : sessions_of_dump(target, until_ns, pending));
  for (const RunningSession& session : sessions) {
    if (session.owner != ::geteuid()) return anothers(fmt::format("the capture in {}", quote(printable(session.dump))), session.owner);
  }
  return sessions;
}

Result<std::vector<ControlAnswer>> ask_sessions(const std::vector<RunningSession>& sessions, const Json& request, int64_t until_ns) {
  const uint64_t seq = wall_clock_us() << 8 | static_cast<uint64_t>(::getpid() & 0xff);
  std::vector<Turn> turns;
  turns.reserve(sessions.size());
  Json control = request;
  control["seq"] = seq;
  for (const RunningSession& session : sessions) {
    turns.emplace_back(session, until_ns);
    const std::string path = join_path(session.folder, kControlFile);
    control["before"] = unanswered(session);
    if (control["before"].size() > kMostBefore) {
      return invalid_argument(fmt::format("{} changes wait for the next step of process {} already", kMostBefore, session.process.number));
    }
    TENSORTAP_RETURN_IF_ERROR(write_file_atomically(path, to_json_text(control) + "\n"));
  }
  std::vector<ControlAnswer> answers;
  answers.reserve(sessions.size());
  for (const RunningSession& session : sessions) answers.push_back(wait_for_answer(session, seq, until_ns));
  return answers;
}

}  // namespace tensortap::cli
