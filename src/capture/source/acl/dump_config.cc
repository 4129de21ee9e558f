#include "source/acl/dump_config.h"

#include <sys/stat.h>

#include <climits>
#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/acl/failure.h"
#include "tensortap/capture.h"

namespace tensortap::acl_source {
namespace {

constexpr int64_t kLargestConfig = int64_t{10} << 20;
constexpr int kDeepestConfig = 10;

std::string absolute_path(const char* path) {
  char buffer[PATH_MAX];
  return realpath(path, buffer) != nullptr ? std::string(buffer) : "";
}

// Counts as the original does: every bracket of the text, those in strings too.
bool is_too_deep(std::string_view text) {
  int braces = 0;
  int brackets = 0;
  for (const char c : text) {
    if (c == '\0') return false;
    braces += c == '{' ? 1 : c == '}' ? -1 : 0;
    brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (braces > kDeepestConfig || brackets > kDeepestConfig) return true;
  }
  return false;
}

aclError read_config_file(const char* path, std::string& name, std::string& text) {
  name = absolute_path(path);
  struct stat facts {};
  if (name.empty() || stat(name.c_str(), &facts) != 0) return fail(ACL_ERROR_INVALID_FILE, concat("there is no file ", path));
  if (!S_ISREG(facts.st_mode)) return fail(ACL_ERROR_INVALID_FILE, concat(path, " is no regular file"));
  if (facts.st_size > kLargestConfig) return fail(ACL_ERROR_INVALID_FILE, concat(path, " has more than 10 MiB"));
  auto content = read_file(name, static_cast<uint64_t>(kLargestConfig));
  if (!content.ok()) return fail(ACL_ERROR_INVALID_FILE, content.status().message());
  text = *std::move(content);
  if (is_too_deep(text)) return fail(ACL_ERROR_PARSE_FILE, concat(path, " is nested more than 10 deep"));
  return ACL_SUCCESS;
}

}  // namespace

Json check_config(const std::string& text, const std::string& name, const char* dialect) {
  char* report = nullptr;
  const int status = tensortap_check_config(text.c_str(), name.c_str(), dialect, &report);
  Json json = report != nullptr ? Json::parse(report, nullptr, false) : Json::object();
  tensortap_free(report);
  if (!json.is_object()) json = Json::object();
  json["status"] = status;
  return json;
}

std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

ConfigOutcome read_dump_config(const char* path, ConfigReader reader) {
  ConfigOutcome outcome;
  std::string name;
  outcome.code = read_config_file(path, name, outcome.text);
  if (outcome.code != ACL_SUCCESS || outcome.text.empty()) return outcome;
  const Json config = Json::parse(outcome.text, nullptr, false);
  const Json report = check_config(outcome.text, name, "acl");
  if (config.is_discarded()) {
    const std::string message = text_member(report, "error");
    outcome.code = fail(reader == ConfigReader::kInit ? ACL_ERROR_PARSE_FILE : ACL_ERROR_INVALID_DUMP_CONFIG,
                        message.empty() ? concat(name, " is no JSON") : message);
    return outcome;
  }
  // Other sections of the file belong to other parts of the interface.
  if (!config.is_object() || !config.contains("dump")) return outcome;
  if (report["status"] != TENSORTAP_OK) {
    const char* const key = reader == ConfigReader::kInit && report.contains("init_code") ? "init_code" : "code";
    const int code = report.contains(key) && report[key].is_number_integer() ? report[key].get<int>() : 0;
    outcome.code = fail(code != 0 ? code : ACL_ERROR_INVALID_DUMP_CONFIG, text_member(report, "error"));
    return outcome;
  }
  if (!report.value("captures", false)) return outcome;
  outcome.request = std::make_shared<DumpRequest>();
  outcome.request->config = outcome.text;
  outcome.request->config_name = name;
  outcome.request->kind = text_member(report, "kind");
  outcome.request->scene = text_member(report, "scene");
  outcome.request->models = report.value("models", false);
  outcome.request->operators = report.value("operators", false);
  const std::string out = text_member(report, "out");
  outcome.request->folder = out.empty() ? "" : absolute_path(out.c_str());
  return outcome;
}

}  // namespace tensortap::acl_source
