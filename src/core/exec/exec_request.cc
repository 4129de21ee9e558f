#include "exec/exec_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/environment.h"
#include "base/files.h"
#include "base/job_rank.h"
#include "base/json.h"
#include "base/message.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostRequestBytes = uint64_t{128} << 20;
constexpr size_t kMostAdapterFolders = 64;
constexpr int kMostFoldersOfAProcess = 1000;
constexpr std::array<std::string_view, 5> kCompileModes = {"eager", "aot", "inductor", "inductor-kernels", "inductor-nodes"};

// Takes members out of the object, one after the other, until one is wrong.
class Members {
 public:
  Members(const Json& object, std::string_view name) : object_(object), name_(name) {}

  void text(const char* key, std::string& value) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_string()) return wrong(key, "a text");
    // A file system stops reading at a NUL.
    if (member->get_ref<const std::string&>().find('\0') != std::string::npos) return wrong(key, "a text without NUL");
    value = member->get<std::string>();
  }

  void path(const char* key, std::string& value) {
    text(key, value);
    if (status_.ok() && !value.empty() && !value.starts_with('/')) wrong(key, "an absolute path");
  }

  void flag(const char* key, bool& value) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_boolean()) return wrong(key, "true or false");
    value = member->get<bool>();
  }

  void paths(const char* key, std::vector<std::string>& values) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_array() || member->size() > kMostAdapterFolders) return wrong(key, "a short list of absolute paths");
    for (const Json& one : *member) {
      if (!one.is_string() || !one.get_ref<const std::string&>().starts_with('/')) return wrong(key, "a short list of absolute paths");
      values.push_back(one.get<std::string>());
    }
  }

  void wrong(const char* key, std::string_view wanted) {
    if (status_.ok()) status_ = invalid_argument(concat(name_, ": ", quote(key), " is not ", wanted));
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const Json* find(const char* key) {
    const auto found = object_.find(key);
    return !status_.ok() || found == object_.end() ? nullptr : &*found;
  }

  const Json& object_;
  std::string_view name_;
  Status status_;
};

enum class Claim { kMine, kTaken, kImpossible };

Claim claim(const std::string& marks, const std::string& name) {
  if (marks.empty()) return Claim::kImpossible;
  const int file = open(join_path(marks, name).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno == EEXIST ? Claim::kTaken : Claim::kImpossible;
  close(file);
  return Claim::kMine;
}

}  // namespace

Result<ExecRequest> parse_exec_request(std::string_view text, std::string_view name) {
  TENSORTAP_ASSIGN_OR_RETURN(const Json object, parse_json(text, name));
  if (!object.is_object()) return invalid_argument(concat(name, ": not a JSON object"));
  ExecRequest request;
  Members members(object, name);
  members.text("config", request.config);
  members.text("config_name", request.config_name);
  members.path("out", request.out);
  members.text("program", request.program);
  members.paths("adapters", request.adapters);
  members.path("python_package", request.python_package);
  members.text("compile", request.compile);
  members.text("names", request.names);
  members.flag("workers", request.workers);
  members.flag("shared_tree", request.shared_tree);
  members.flag("content_cache", request.content_cache);
  if (request.out.empty()) members.wrong("out", "there");
  if (std::ranges::find(kCompileModes, request.compile) == kCompileModes.end())
    members.wrong("compile", "eager, aot, inductor, inductor-kernels or inductor-nodes");
  if (request.names != "own" && request.names != "transformers") members.wrong("names", "own or transformers");
  TENSORTAP_RETURN_IF_ERROR(members.status());
  return request;
}

std::optional<ExecRequest> read_exec_request() {
  const auto path = environment_value("TENSORTAP_EXEC");
  if (!path) return std::nullopt;
  const auto text = read_file(*path, kMostRequestBytes);
  if (!text.ok()) {
    say(text.status().code() == StatusCode::kNotFound
            ? concat("nothing is captured in this process: the `tensortap exec` that it was started under has ended (", *path, " is gone)")
            : concat("nothing is captured in this process: ", text.status().message()));
    return std::nullopt;
  }
  auto request = parse_exec_request(*text, *path);
  if (!request.ok()) {
    say(concat("nothing is captured in this process: ", request.status().message()));
    return std::nullopt;
  }
  request->marks = parent_path(*path);
  return *std::move(request);
}

std::string model_of_program(std::string_view program) {
  std::string_view chosen;
  for (const std::string_view word : split(program, ' ')) {
    if (chosen.empty() || word.ends_with(".py")) chosen = word;
    if (word.ends_with(".py")) break;
  }
  chosen.remove_prefix(chosen.rfind('/') + 1);
  return std::string(chosen.substr(0, chosen.rfind('.')));
}

std::string process_folder(const ExecRequest& request) {
  const JobRank job = job_rank();
  const std::string place = job.world_size == 1 ? "first" : concat("rank_", job.rank);
  if (claim(request.marks, place) == Claim::kMine) return request.out;
  const std::string name = concat("process_", getpid());
  for (int attempt = 1; attempt < kMostFoldersOfAProcess; ++attempt) {
    const std::string folder = attempt == 1 ? name : concat(name, "-", attempt);
    if (claim(request.marks, folder) != Claim::kTaken) return join_path(request.out, folder);
  }
  return join_path(request.out, name);
}

std::string model_folder(const ExecRequest& request, const std::string& process, std::string_view name) {
  constexpr size_t kMostLetters = 100;
  std::string folder = "model_";
  for (const char letter : name.substr(0, kMostLetters)) {
    const bool plain = is_letter_or_digit(letter) || letter == '.' || letter == '-';
    folder += plain ? letter : '_';
  }
  const JobRank job = job_rank();
  std::string mark = job.world_size == 1 ? "" : concat("rank_", job.rank, ".");
  if (process != request.out) mark += concat(file_name(process), ".");
  for (int attempt = 2; claim(request.marks, mark + folder) == Claim::kTaken && attempt < kMostFoldersOfAProcess; ++attempt) {
    folder = concat(folder.substr(0, attempt == 2 ? folder.size() : folder.rfind('-')), "-", attempt);
  }
  return join_path(process, folder);
}

Result<std::string> config_with_folder(const ExecRequest& request, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(Json config, parse_json(request.config, request.config_name));
  if (!config.is_object()) return invalid_argument(concat(request.config_name, ": not a JSON object"));
  config["out"] = folder;
  return to_json_text(config);
}

}  // namespace tensortap
