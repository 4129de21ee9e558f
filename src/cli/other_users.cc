#include "cli/other_users.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

}  // namespace

bool can_become_another_user() {
  if (geteuid() == 0) return true;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1U << CAP_SETUID)) != 0;
}

std::vector<std::string> obstacles_of_other_users(const InstalledFiles& installed, const std::string& out, bool admitted) {
  std::vector<std::string> obstacles;
  for (const std::string& library : {installed.preload_library, installed.pytorch_library, installed.onnxruntime_library}) {
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
