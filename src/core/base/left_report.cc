#include "base/left_report.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <initializer_list>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kReportPrefix = "left-";
constexpr std::string_view kDumpPrefix = "dump-";
constexpr uint64_t kLargest = uint64_t{256} << 20;

// A file beside the request of `exec`, of which there may be several in a process.
void leave(std::string_view prefix, const Json& told) {
  static std::atomic<unsigned> counter{0};
  const auto request = environment_value("TENSORTAP_EXEC");
  if (!request.has_value() || !request->starts_with('/')) return;
  const Result<Folder> folder = Folder::open(parent_path(*request));
  if (!folder.ok()) return;
  (void)folder->replace_file(concat(prefix, ::getpid(), "-", counter.fetch_add(1), ".json"), to_json_text(told) + "\n");
}

// Calls `take` with each of the files that are objects with texts in `keys`.
template <typename Take>
void read_left(const std::string& folder, std::string_view prefix, std::initializer_list<const char*> keys, const Take& take) {
  const Result<std::vector<std::string>> names = list_directory(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with(prefix)) continue;
    const Result<std::string> text = read_file(join_path(folder, name), kLargest);
    const Result<Json> left = text.ok() ? parse_json(*text, name) : Result<Json>(text.status());
    if (!left.ok() || !left->is_object()) continue;
    std::vector<std::string> values;
    for (const char* key : keys) {
      if (const Json* value = member(*left, key); value != nullptr && value->is_string()) values.push_back(value->get<std::string>());
    }
    if (values.size() == keys.size()) take(values);
  }
}

}  // namespace

Status tell_exec(const Status& finished, const std::string& dump, const std::string& report) {
  if (!finished.ok()) leave(kReportPrefix, {{"dump", dump}, {"error", finished.message()}, {"report", report}});
  return finished;
}

void tell_exec_of_dump(const std::string& dump) {
  std::array<char, PATH_MAX> current{};
  const bool is_relative = !dump.starts_with('/') && ::getcwd(current.data(), current.size()) != nullptr;
  leave(kDumpPrefix, {{"dump", is_relative ? join_path(current.data(), dump) : dump}});
}

std::set<std::string> told_dumps(const std::string& folder) {
  std::set<std::string> dumps;
  read_left(folder, kDumpPrefix, {"dump"}, [&dumps](const std::vector<std::string>& values) { dumps.insert(values[0]); });
  return dumps;
}

std::map<std::string, LeftReport> left_reports(const std::string& folder) {
  std::map<std::string, LeftReport> reports;
  read_left(folder, kReportPrefix, {"dump", "error", "report"}, [&reports](const std::vector<std::string>& values) {
    reports[values[0]] = {values[1], values[2]};
  });
  return reports;
}

}  // namespace tensortap
