#include "system/ascend/config/dump_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/text.h"

namespace tensortap::ascend {
namespace {

constexpr size_t kLongestPath = 512;
constexpr size_t kShownPath = 200;
constexpr std::string_view kAfterAddress = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-=[];\\,./!@#$%^&*()_+{}:?";
constexpr std::array<std::string_view, 3> kEnvironmentScenes = {"aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump"};

// As std::stoi reads it, which stops at the first character that is no digit.
bool is_address_part(std::string_view part) {
  while (!part.empty() && (part.front() == ' ' || (part.front() >= '\t' && part.front() <= '\r'))) part.remove_prefix(1);
  const bool negative = part.starts_with('-');
  if (negative || part.starts_with('+')) part.remove_prefix(1);
  int value = 0;
  size_t digits = 0;
  for (; digits < part.size() && part[digits] >= '0' && part[digits] <= '9'; ++digits) {
    value = value * 10 + (part[digits] - '0');
    if (value > 255) return false;
  }
  return digits > 0 && (!negative || value == 0);
}

bool is_address(std::string_view text) {
  size_t parts = 0;
  for (const std::string_view part : split(text, '.')) {
    if (!is_address_part(part)) return false;
    ++parts;
  }
  return parts == 4;
}

DumpPath check_path_after_address(const std::string& path, size_t colon) {
  std::string_view rest = std::string_view(path).substr(colon + 1);
  const size_t wrong = rest.find_first_not_of(kAfterAddress);
  if (rest.empty()) return {"", concat(quote(path), " has no path after the address; add one"), ""};
  if (wrong != std::string_view::npos) {
    return {"", concat(quote(path), " may not hold ", quote(rest.substr(wrong, 1)), " after the address; choose another folder"), ""};
  }
  while (rest.starts_with('/')) rest.remove_prefix(1);
  std::string folder = rest.empty() ? "." : std::string(rest);
  std::string note =
      concat("dump_path ", quote(path), ": the address is not used; the dump goes to ", quote(folder), " below the current folder");
  return {std::move(folder), "", std::move(note)};
}

std::string folder_problem(const std::string& path) {
  struct stat status = {};
  if (path.find('\0') != std::string::npos) return "holds a zero byte, which no path can; choose another folder";
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? "does not exist; create it, AscendCL does not" : concat("cannot be used: ", strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) return "is no folder; choose a folder";
  if (::access(path.c_str(), R_OK | W_OK) != 0) return "may not be read and written by this user; change its mode or choose another folder";
  return "";
}

}  // namespace

DumpPath check_dump_path(const std::string& path) {
  if (path.size() > kLongestPath)
    return {"", concat(quote(path.substr(0, kShownPath)), "... has ", path.size(), " characters; the most are ", kLongestPath), ""};
  const size_t colon = path.find(':');
  if (colon != std::string::npos && is_address(std::string_view(path).substr(0, colon))) return check_path_after_address(path, colon);
  const std::string problem = folder_problem(path);
  return {path, problem.empty() ? "" : concat(quote(path), " ", problem), ""};
}

std::optional<EnvironmentDump> environment_dump() {
  std::string note;
  if (const auto scene = environment_value("ASCEND_DUMP_SCENE")) {
    for (const std::string_view known : kEnvironmentScenes) {
      if (*scene == known) return EnvironmentDump{*scene, exception_folder(""), "ASCEND_DUMP_SCENE", ""};
    }
    note = concat("ASCEND_DUMP_SCENE: ", quote(scene->substr(0, kShownPath)), " is none of aic_err_brief_dump, aic_err_norm_dump and ",
                  "aic_err_detail_dump; it is ignored, as in AscendCL");
  }
  if (const auto folder = environment_value("NPU_COLLECT_PATH"))
    return EnvironmentDump{"aic_err_norm_dump", *folder, "NPU_COLLECT_PATH", note};
  if (note.empty()) return std::nullopt;
  return EnvironmentDump{"", "", "", note};
}

std::string exception_folder(const std::string& dump_path) {
  for (const std::string_view name : {"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"}) {
    if (const auto folder = environment_value(name)) return *folder;
  }
  return dump_path.empty() ? "." : dump_path;
}

}  // namespace tensortap::ascend
