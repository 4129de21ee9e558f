#include "cli/launch/program_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/launch/elf_file.h"

namespace tensortap::cli {
namespace {

constexpr int kMostInterpreters = 4;  // as many as the kernel follows

bool is_executable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The first kilobyte of a file.
std::string head_of(const std::string& path) {
  const auto file = File::open(path, O_RDONLY);
  if (!file.ok()) return {};
  std::array<char, 1024> buffer{};
  const ssize_t size = pread(file->fd(), buffer.data(), buffer.size(), 0);
  return {buffer.data(), size > 0 ? static_cast<size_t>(size) : 0};
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) {
    if (const std::string_view text = trim(word); !text.empty()) words.emplace_back(text);
  }
  return words;
}

// pip writes scripts for interpreters with a long path as shell scripts: '''exec' "/long/path/python" "$0" "$@"
std::string interpreter_behind_shell(std::string_view script) {
  constexpr std::string_view kBegin = "\n'''exec' ";
  const size_t at = script.find(kBegin);
  if (at == std::string_view::npos) return {};
  std::string_view rest = script.substr(at + kBegin.size());
  const bool quoted = rest.starts_with('"');
  if (quoted) rest.remove_prefix(1);
  const size_t end = rest.find(quoted ? '"' : ' ');
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

// The interpreter that a script's first line names, "" when the file is no script.
Result<std::string> named_interpreter(const std::string& path) {
  const std::string head = head_of(path);
  if (!head.starts_with("#!")) return std::string();
  if (const std::string behind = interpreter_behind_shell(head); !behind.empty()) return behind;
  const auto words = words_of(std::string_view(head).substr(2, head.find('\n') - 2));
  if (words.empty()) return std::string();
  if (file_name(words.front()) != "env") return words.front();
  const auto name = std::find_if(words.begin() + 1, words.end(),
                                 [](const std::string& word) { return !word.starts_with('-') && word.find('=') == std::string::npos; });
  return name == words.end() ? Result<std::string>(words.front()) : find_program(*name);
}

}  // namespace

Result<std::string> find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    if (is_executable(word)) return word;
    return path_exists(word) ? invalid_argument(concat(quote(word), " cannot be executed"))
                             : not_found(concat(quote(word), " does not exist"));
  }
  const std::string path = environment_value("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (const std::string_view folder : split(path, ':')) {
    std::string candidate = join_path(folder.empty() ? "." : folder, word);
    if (is_executable(candidate)) return candidate;
  }
  return not_found(concat("there is no program ", quote(word), " on PATH"));
}

Result<std::string> interpreter_of(const std::string& path) {
  std::string current = path;
  for (int level = 0; level < kMostInterpreters; ++level) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string next, named_interpreter(current));
    if (next.empty()) return current;
    if (!is_executable(next)) return not_found(concat(current, " is to be interpreted by ", quote(next), ", which does not exist"));
    current = next;
  }
  return current;
}

Status check_preloadable(const std::string& path) {
  const auto map = MappedFile::open(path);
  if (!map.ok()) return {};  // a program may be executable and not readable
  const auto file = ElfFile::parse(map->bytes());
  if (runs_with_other_rights(path)) {
    return unsupported(
        concat(path,
               " runs with the rights of another user, and the system lets nothing be loaded into such programs. Start what it "
               "starts under `tensortap exec` instead, inside of it"));
  }
  if (!file) return {};
  if (!file->is_native()) return unsupported(concat(path, " is a program for another processor"));
  if (!file->has_interpreter()) {
    return unsupported(concat(path,
                              " is linked statically: nothing can be loaded into it. Link it dynamically, or report its operators "
                              "through include/tensortap/capture.h"));
  }
  return {};
}

bool is_python(const std::string& path) {
  std::string_view name = path;
  name.remove_prefix(name.rfind('/') + 1);
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) return false;
  return name.substr(kPython.size()).find_first_not_of("0123456789.t") == std::string_view::npos;
}

}  // namespace tensortap::cli
