#include "serve/source_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

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

struct SourcePlace {
  std::string file;
  size_t line = 0;  // from 1
};

struct SourceText {
  std::string path;
  std::string text;
};

std::optional<SourcePlace> source_place(const std::string& location) {
  const size_t colon = location.rfind(':');
  uint64_t line = 0;
  if (colon == std::string::npos || !parse_unsigned(location.substr(colon + 1), line) || line == 0) return std::nullopt;
  const std::string file = location.substr(0, colon);
  const bool is_source = std::ranges::any_of(kSourceEndings, [&](std::string_view ending) { return file.ends_with(ending); });
  if (!is_source || file.find('\0') != std::string::npos) return std::nullopt;
  return SourcePlace{file, static_cast<size_t>(line)};
}

// Where an open file lies, whatever links led to it; "" when that is not known.
std::string place_of(const File& file) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink(concat("/proc/self/fd/", file.fd()).c_str(), path.data(), path.size());
  return size <= 0 || size == static_cast<ssize_t>(path.size()) ? std::string() : std::string(path.data(), static_cast<size_t>(size));
}

bool lies_below(const std::string& path, const std::string& root) {
  return path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/';
}

std::optional<SourceText> read_below(const std::string& path, std::span<const std::string> roots, int64_t until_ns) {
  const auto file = File::open(path, O_RDONLY);
  if (!file.ok()) return std::nullopt;
  struct stat seen = {};
  if (fstat(file->fd(), &seen) != 0 || !S_ISREG(seen.st_mode)) return std::nullopt;
  if (int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec > until_ns) return std::nullopt;
  const auto size = static_cast<uint64_t>(seen.st_size);
  SourceText found{place_of(*file), std::string()};
  if (size > kMostSourceBytes || std::ranges::none_of(roots, [&](const std::string& root) { return lies_below(found.path, root); })) {
    return std::nullopt;
  }
  found.text.resize(size);
  if (!file->read_at(0, std::as_writable_bytes(std::span(found.text))).ok()) return std::nullopt;
  return found;
}

Json recorded_line(const SourcePlace& place, const std::string& recorded) {
  return {{"file", place.file}, {"line", place.line}, {"first", place.line}, {"lines", {recorded}}, {"read", nullptr}};
}

// Null when the file has no such line, or another one than was recorded.
Json lines_of(const SourceText& source, const SourcePlace& place, const std::string& recorded) {
  const auto lines = split(source.text, '\n');
  if (place.line > lines.size()) return nullptr;
  const size_t at = place.line - 1;
  if (!recorded.empty() && !trim(lines[at]).starts_with(recorded)) return nullptr;
  const size_t first = at - std::min(at, kLinesBefore);
  Json shown = Json::array();
  for (size_t i = first; i < std::min(lines.size(), at + kLinesAfter); ++i) {
    shown.push_back(std::string(lines[i].substr(0, kMostLineBytes)));
  }
  return {{"file", place.file}, {"line", place.line}, {"first", first + 1}, {"lines", std::move(shown)}, {"read", source.path}};
}

}  // namespace

SourceFiles::SourceFiles() {
  std::array<char, PATH_MAX> here{};
  if (getcwd(here.data(), here.size()) != nullptr && std::string_view(here.data()) != "/") roots_.emplace_back(here.data());
}

Result<SourceFiles> SourceFiles::with(const std::vector<std::string>& folders) {
  SourceFiles files;
  for (const std::string& folder : folders) TENSORTAP_RETURN_IF_ERROR(files.add(folder));
  return files;
}

Status SourceFiles::add(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(folder.c_str(), nullptr), std::free);
  if (real == nullptr || !is_directory(real.get())) return invalid_argument(concat(folder, ": not a folder"));
  const std::string path = real.get();
  roots_.push_back(path == "/" ? std::string() : path);
  return {};
}

Json SourceFiles::lines_json(const std::string& location, const std::string& recorded, int64_t until_ns) const {
  const auto place = source_place(location);
  if (!place) return nullptr;
  std::vector<std::string> paths;
  if (place->file.starts_with('/')) {
    paths.push_back(place->file);
  } else {
    for (const std::string& root : roots_) paths.push_back(join_path(root.empty() ? "/" : root, place->file));
  }
  for (const std::string& path : paths) {
    const auto source = read_below(path, roots_, until_ns);
    if (!source) continue;
    if (Json lines = lines_of(*source, *place, recorded); !lines.is_null()) return lines;
  }
  return recorded.empty() ? Json(nullptr) : recorded_line(*place, recorded);
}

}  // namespace tensortap
