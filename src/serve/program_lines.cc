#include "serve/program_lines.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostSourceBytes = uint64_t{4} << 20;
constexpr size_t kMostLineBytes = 400;
constexpr size_t kLinesBefore = 4;
constexpr size_t kLinesAfter = 4;
constexpr std::array<std::string_view, 10> kSourceEndings = {".py", ".pyi", ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".hh"};

bool is_source_name(std::string_view name) {
  return std::ranges::any_of(kSourceEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

Json program_lines_json(const std::string& location, int64_t until_ns) {
  const size_t colon = location.rfind(':');
  uint64_t line = 0;
  if (colon == std::string::npos || !parse_unsigned(location.substr(colon + 1), line) || line == 0) return nullptr;
  const std::string path = location.substr(0, colon);
  if (path.find('\0') != std::string::npos || !is_source_name(path)) return nullptr;
  struct stat seen = {};
  if (stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) return nullptr;
  if (int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec > until_ns) return nullptr;
  const auto text = read_file(path, kMostSourceBytes);
  if (!text.ok()) return nullptr;
  const auto lines = split(*text, '\n');
  if (line > lines.size()) return nullptr;
  const size_t at = static_cast<size_t>(line) - 1;
  const size_t first = at - std::min(at, kLinesBefore);
  Json shown = Json::array();
  for (size_t i = first; i < std::min(lines.size(), at + kLinesAfter); ++i)
    shown.push_back(std::string(lines[i].substr(0, kMostLineBytes)));
  return {{"file", path}, {"line", line}, {"first", first + 1}, {"lines", std::move(shown)}};
}

}  // namespace tensortap
