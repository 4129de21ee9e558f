#include "cli/launch/acl_home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "base/fnv.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

// Packages of CANN that hold headers and libraries; "" is the folder itself, as newer releases have it.
constexpr std::array<std::string_view, 6> kPackages = {"", "runtime", "acllib", "fwkacllib", "atc", "compiler"};
constexpr std::array<std::string_view, 4> kLibraryFolders = {"lib64", "lib64/stub", "devlib", "lib"};
// What programs link: ours holds the functions of all of them.
constexpr std::array<std::string_view, 9> kLibraryNames = {"ascendcl",        "acl_dvpp",   "acl_op_compiler", "acl_cblas",  "acl_retr",
                                                           "acl_tdt_channel", "msprofiler", "acl_rt",          "ascend_dump"};
// Under these names the same folder is found by those who name the place where CANN is installed.
constexpr std::array<std::string_view, 4> kOtherNames = {"latest", "ascend-toolkit/latest", "nnrt/latest", "cann"};

// Another process may make the same link at the same time, or an older installation may have left one.
Status make_link(const std::string& target, const std::string& path) {
  const std::string temporary = concat(path, ".tensortap-", getpid());
  (void)unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) != 0) return errno_status(path, errno);
  if (rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  (void)unlink(temporary.c_str());
  return errno_status(path, error);
}

// What others may write would be compiled into programs.
Status make_own(const std::string& folder) {
  TENSORTAP_RETURN_IF_ERROR(make_directories(folder, Access::kShared));
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat facts {};
  const bool own = fd >= 0 && fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && fchmod(fd, 0755) == 0;
  if (fd >= 0) close(fd);
  if (own) return {};
  return invalid_argument(concat(folder, " is not a folder of yours. Remove it, or choose another place with XDG_CACHE_HOME"));
}

Result<std::string> home_of(const AclFiles& installed) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string cache, user_cache_folder());
  const std::string parent = join_path(cache, "acl");
  const std::string home = join_path(parent, hexadecimal(hash_more(hash_more(kFirstHash, installed.library), installed.headers)));
  TENSORTAP_RETURN_IF_ERROR(make_own(parent));
  TENSORTAP_RETURN_IF_ERROR(make_own(home));
  return home;
}

Status link_libraries(const AclFiles& installed, const std::string& folder) {
  TENSORTAP_RETURN_IF_ERROR(make_directories(folder, Access::kShared));
  const std::string from = parent_path(installed.library);
  for (const std::string_view name : kLibraryNames) {
    TENSORTAP_RETURN_IF_ERROR(make_link(installed.library, join_path(folder, concat("lib", name, ".so"))));
  }
  // What ours is called in a program, and what it needs itself.
  for (const char* name : {"libtensortap_acl.so", "libtensortap_onnxruntime.so", "libtensortap_capture.so"}) {
    TENSORTAP_RETURN_IF_ERROR(make_link(join_path(from, name), join_path(folder, name)));
  }
  return {};
}

// A value for a shell, whatever is in it.
std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string environment_script(const std::string& home) {
  const std::string quoted = shell_quoted(home);
  return concat("# Made by `tensortap doctor --acl-home`, to be sourced: what CANN's script of this name sets.\n",
                "export ASCEND_TOOLKIT_HOME=", quoted, "\nexport ASCEND_HOME_PATH=", quoted, "\nexport ASCEND_HOME=", quoted,
                "\nexport DDK_PATH=", quoted, "\nexport NPU_HOST_LIB=", quoted, "/runtime/lib64/stub\nexport LD_LIBRARY_PATH=", quoted,
                "/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n");
}

}  // namespace

Result<std::string> make_acl_home(const AclFiles& installed) {
  if (installed.library.empty() || installed.headers.empty())
    return not_found("AscendCL's headers and library are not installed with this tensortap");
  TENSORTAP_ASSIGN_OR_RETURN(const std::string home, home_of(installed));
  for (const std::string_view package : kPackages) {
    const std::string folder = package.empty() ? home : join_path(home, package);
    for (const std::string_view libraries : kLibraryFolders)
      TENSORTAP_RETURN_IF_ERROR(link_libraries(installed, join_path(folder, libraries)));
    TENSORTAP_RETURN_IF_ERROR(make_link(installed.headers, join_path(folder, "include")));
  }
  utsname machine{};
  if (uname(&machine) == 0) TENSORTAP_RETURN_IF_ERROR(make_link(".", join_path(home, concat(machine.machine, "-linux"))));
  for (const std::string_view name : kOtherNames) {
    const std::string path = join_path(home, name);
    TENSORTAP_RETURN_IF_ERROR(make_directories(parent_path(path), Access::kShared));
    TENSORTAP_RETURN_IF_ERROR(make_link(home, path));
  }
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(join_path(home, "set_env.sh"), environment_script(home), Access::kShared));
  return home;
}

}  // namespace tensortap::cli
