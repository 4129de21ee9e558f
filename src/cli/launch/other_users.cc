#include "cli/launch/other_users.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

// The folder on the way to `path` that others cannot pass, or `path` itself when they cannot do with it what `wanted` says; "" when they
// can.
std::string first_closed(const std::string& path, mode_t wanted) {
  struct stat facts {};
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (stat(folder.c_str(), &facts) == 0 && (facts.st_mode & S_IXOTH) == 0) return folder;
  }
  return stat(path.c_str(), &facts) == 0 && (facts.st_mode & wanted) != wanted ? path : std::string();
}

struct ProcessFacts {
  uint64_t parent = 0;
  uint64_t user = 0;  // by whose rights it acts
};

// By what anybody may read of any process, also where other processes are closed to us (containers).
std::optional<ProcessFacts> facts_of_process(const std::string& name) {
  const Result<std::string> text = read_file(concat("/proc/", name, "/status"));
  if (!text.ok()) return std::nullopt;
  ProcessFacts facts;
  for (const std::string_view line : split(*text, '\n')) {
    const std::vector<std::string_view> words = split(line, '\t');
    if (words.front() == "PPid:" && words.size() > 1 && !parse_unsigned(words[1], facts.parent)) return std::nullopt;
    if (words.front() == "Uid:" && words.size() > 2 && !parse_unsigned(words[2], facts.user)) return std::nullopt;
  }
  return facts;
}

bool descends_from(uint64_t process, uint64_t ancestor, const std::map<uint64_t, ProcessFacts>& processes) {
  // Numbers may have been given anew while the list was made: no circle is followed for ever.
  for (size_t steps = 0; steps < processes.size(); ++steps) {
    const auto found = processes.find(process);
    if (found == processes.end()) return false;
    if (found->second.parent == ancestor) return true;
    process = found->second.parent;
  }
  return false;
}

}  // namespace

bool can_become_another_user() {
  if (geteuid() == 0) return true;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1U << CAP_SETUID)) != 0;
}

bool starts_another_user() {
  std::map<uint64_t, ProcessFacts> processes;
  const Result<std::vector<std::string>> names = list_directory("/proc");
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    uint64_t number = 0;
    if (!parse_unsigned(name, number)) continue;
    if (const auto facts = facts_of_process(name)) processes.emplace(number, *facts);
  }
  return std::ranges::any_of(processes, [&](const auto& process) {
    return process.second.user != geteuid() && descends_from(process.first, static_cast<uint64_t>(getpid()), processes);
  });
}

std::vector<std::string> obstacles_of_other_users(const InstalledFiles& installed, const std::string& out, bool admitted) {
  std::vector<std::string> obstacles;
  for (const std::string& library : installed.loaded()) {
    const std::string closed = first_closed(library, S_IROTH);
    if (closed.empty()) continue;
    const char* right = closed == library ? "r" : "x";
    obstacles.push_back(concat("they cannot read ", library, ", so each of them prints an error of ld.so (", quote(closed),
                               " is closed to others: `chmod o+", right, " ", closed,
                               "`, or install tensortap where all users can read it)"));
    break;
  }
  if (!admitted) {
    obstacles.emplace_back("the dump is for its owner alone (`--mode shared` admits others)");
  } else if (const std::string closed = first_closed(out, S_IWOTH | S_IXOTH); !closed.empty()) {
    obstacles.push_back(concat("they cannot write into ", out, " (", quote(closed), " is closed to others: `chmod o+",
                               closed == out ? "rwx" : "x", " ", closed, "`)"));
  }
  return obstacles;
}

}  // namespace tensortap::cli
