#include "base/process.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

// Fields of /proc/PID/stat behind the name of the program, which may hold blanks and brackets.
constexpr size_t kState = 0;
constexpr size_t kParent = 1;
constexpr size_t kStart = 19;

std::string own_space() {
  std::array<char, 64> space{};
  const ssize_t size = readlink("/proc/self/ns/pid", space.data(), space.size());
  return size <= 0 ? std::string() : std::string(space.data(), static_cast<size_t>(size));
}

}  // namespace

bool process_exists(uint64_t number) {
  if (number == 0 || number > INT32_MAX) return false;
  return ::kill(static_cast<pid_t>(number), 0) == 0 || errno == EPERM;
}

std::optional<ProcessFacts> process_facts(uint64_t number) {
  if (number == 0 || number > INT32_MAX) return std::nullopt;
  const std::string folder = concat("/proc/", number);
  struct stat info {};
  const Result<std::string> text = read_file(concat(folder, "/stat"));
  if (!text.ok() || ::stat(folder.c_str(), &info) != 0) return std::nullopt;
  const size_t end_of_name = text->rfind(") ");
  if (end_of_name == std::string::npos) return std::nullopt;
  const std::vector<std::string_view> fields = split(std::string_view(*text).substr(end_of_name + 2), ' ');
  ProcessFacts facts;
  if (fields.size() <= kStart || !parse_unsigned(fields[kParent], facts.parent) || !parse_unsigned(fields[kStart], facts.start)) {
    return std::nullopt;
  }
  facts.ended = fields[kState] == "Z" || fields[kState] == "X";
  facts.owner = info.st_uid;
  return facts;
}

std::string command_line_of(uint64_t number) {
  constexpr size_t kMostBytes = 200;
  const Result<std::string> text = read_file(concat("/proc/", number == 0 ? "self" : to_text(number), "/cmdline"));
  std::string words = text.ok() ? *text : std::string();
  std::ranges::replace(words, '\0', ' ');
  words = std::string(trim(words));
  return words.size() > kMostBytes ? words.substr(0, kMostBytes) + "..." : words;
}

ProcessIdentity own_process() {
  ProcessIdentity own{static_cast<uint64_t>(::getpid()), 0, own_space()};
  if (const auto facts = process_facts(own.number)) own.start = facts->start;
  return own;
}

bool is_running(const ProcessIdentity& process) {
  const std::string here = own_space();
  if (!process.space.empty() && !here.empty() && process.space != here) return true;
  const auto facts = process_facts(process.number);
  if (!facts) return process_exists(process.number);
  return !facts->ended && (process.start == 0 || process.start == facts->start);
}

}  // namespace tensortap
