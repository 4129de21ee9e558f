#include "base/left_report.h"

#include <unistd.h>

#include <atomic>

#include "base/environment.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kPrefix = "left-";
constexpr uint64_t kLargest = uint64_t{256} << 20;

}  // namespace

Status tell_exec(const Status& finished, const std::string& dump, const std::string& report) {
  static std::atomic<unsigned> counter{0};
  const auto request = environment_value("TENSORTAP_EXEC");
  if (finished.ok() || !request.has_value() || !request->starts_with('/')) return finished;
  const Result<Folder> folder = Folder::open(parent_path(*request));
  if (!folder.ok()) return finished;
  const std::string name = concat(kPrefix, ::getpid(), "-", counter.fetch_add(1), ".json");
  const Json text = {{"dump", dump}, {"error", finished.message()}, {"report", report}};
  (void)folder->replace_file(name, to_json_text(text) + "\n");
  return finished;
}

std::map<std::string, LeftReport> left_reports(const std::string& folder) {
  std::map<std::string, LeftReport> reports;
  const Result<std::vector<std::string>> names = list_directory(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with(kPrefix)) continue;
    const Result<std::string> text = read_file(join_path(folder, name), kLargest);
    const Result<Json> left = text.ok() ? parse_json(*text, name) : Result<Json>(text.status());
    if (!left.ok() || !left->is_object()) continue;
    const auto member = [&](const char* key) { return left->value(key, Json()); };
    if (!member("dump").is_string() || !member("error").is_string() || !member("report").is_string()) continue;
    reports[member("dump").get<std::string>()] = {member("error").get<std::string>(), member("report").get<std::string>()};
  }
  return reports;
}

}  // namespace tensortap
