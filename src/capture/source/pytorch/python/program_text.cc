#include "source/pytorch/python/program_text.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace tensortap::pytorch {
namespace {

constexpr uint64_t kMostFileBytes = uint64_t{4} << 20;
constexpr uint64_t kMostKeptBytes = uint64_t{16} << 20;  // of texts in memory
constexpr size_t kMostFiles = 1u << 14;
constexpr size_t kMostLineBytes = 200;

struct ProgramFiles {
  std::mutex mutex;
  std::unordered_map<std::string, std::string> paths;  // by the name that positions have
  std::unordered_map<std::string, std::string> texts;  // by that name, of files that were read; "" of those that cannot be
  uint64_t kept_bytes = 0;
};

// Never destroyed: threads of the program may ask while the process ends.
ProgramFiles& program_files() {
  static auto* const files = new ProgramFiles;
  return *files;
}

const std::string& text_of_file(ProgramFiles& files, const std::string& name, const std::string& path) {
  if (const auto known = files.texts.find(name); known != files.texts.end()) return known->second;
  auto text = read_file(path, kMostFileBytes);
  if (!text.ok()) text = std::string();
  if (files.kept_bytes + text->size() > kMostKeptBytes) {
    files.texts.clear();
    files.kept_bytes = 0;
  }
  files.kept_bytes += text->size();
  return files.texts.emplace(name, *std::move(text)).first->second;
}

std::string_view line_in(std::string_view text, uint64_t line) {
  while (--line > 0) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return trim(text.substr(0, text.find('\n')));
}

// Not within a character.
std::string_view cut(std::string_view line) {
  size_t size = std::min(line.size(), kMostLineBytes);
  while (size > 0 && size < line.size() && (static_cast<unsigned char>(line[size]) & 0xc0U) == 0x80U) --size;
  return line.substr(0, size);
}

}  // namespace

void note_program_file(const std::string& shown, const std::string& path) {
  if (shown.empty() || shown.starts_with('<')) return;  // <stdin> and notebook cells are no files
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  ProgramFiles& files = program_files();
  const std::lock_guard lock(files.mutex);
  if (!error && files.paths.size() < kMostFiles) files.paths.emplace(shown, absolute);
}

std::string program_line(const std::string& location) {
  const size_t colon = location.rfind(':');
  uint64_t line = 0;
  if (colon == std::string::npos || !parse_unsigned(location.substr(colon + 1), line) || line == 0) return {};
  const std::string name = location.substr(0, colon);
  ProgramFiles& files = program_files();
  const std::lock_guard lock(files.mutex);
  const auto path = files.paths.find(name);
  return path == files.paths.end() ? std::string() : std::string(cut(line_in(text_of_file(files, name, path->second), line)));
}

}  // namespace tensortap::pytorch
