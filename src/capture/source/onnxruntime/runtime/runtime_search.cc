#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "source/onnxruntime/runtime/runtime_library.h"

extern char** environ;

namespace tensortap::onnxruntime {
namespace {

// `path` is the library, or a folder that holds it directly or as the onnxruntime Python package has it.
std::optional<std::string> library_at(const std::string& path) {
  // A name without a slash means a file here, which the loader would look for in its own folders.
  if (!is_directory(path)) {
    if (!path_exists(path)) return std::nullopt;
    return path.find('/') == std::string::npos ? concat("./", path) : path;
  }
  for (const char* below : {"", "capi", "onnxruntime/capi", "lib"}) {
    if (auto found = library_in(*below == '\0' ? path : join_path(path, below))) return found;
  }
  return std::nullopt;
}

std::optional<std::string> library_in_python(const std::string& prefix) {
  const std::string library_folder = join_path(prefix, "lib");
  auto names = list_directory(library_folder);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    if (!name.starts_with("python3")) continue;
    if (auto found = library_in(join_path(join_path(library_folder, name), "site-packages/onnxruntime/capi"))) return found;
  }
  return std::nullopt;
}

// tensortap's own Python package lies in the same site-packages as the onnxruntime package that its user chose.
std::optional<std::string> library_beside_us() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_runtimes), &info) == 0 || info.dli_fname == nullptr) return std::nullopt;
  // The command finds its libraries by a path like bin/../lib, programs find them by links to the package.
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(info.dli_fname, error);
  std::string folder = parent_path(error ? std::filesystem::path(info.dli_fname).lexically_normal().string() : path.string());
  for (int level = 0; level < 3; ++level) {
    if (auto found = library_in(join_path(folder, "onnxruntime/capi"))) return found;
    folder = parent_path(folder);
  }
  return std::nullopt;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 1024> buffer;
  ssize_t count = 0;
  while ((count = read(fd, buffer.data(), buffer.size())) > 0 && text.size() < 65536)
    text.append(buffer.data(), static_cast<size_t>(count));
  return text;
}

// The interpreter of the environment that has the command `tensortap` in its bin folder; "" where another program has loaded us.
std::string python_beside_command() {
  std::array<char, 4096> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return {};
  const std::string program(path.data(), static_cast<size_t>(size));
  std::string python = join_path(parent_path(program), "python3");
  return file_name(program) == "tensortap" && path_exists(python) ? python : std::string();
}

// Asks an interpreter, a path or a name to look for on PATH, where its onnxruntime package is, without importing it.
std::optional<std::string> library_by_python(std::string program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string flag = "-c";
  std::string code = "import importlib.util as u; s = u.find_spec('onnxruntime'); print(s.submodule_search_locations[0] if s else '')";
  char* arguments[] = {program.data(), flag.data(), code.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string folder = error == 0 ? std::string(trim(read_all(ends[0]))) : "";
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return folder.empty() ? std::nullopt : library_in(join_path(folder, "capi"));
}

Result<std::vector<RuntimeCandidate>> only(const std::string& path, const std::string& origin) {
  auto found = library_at(path);
  if (!found) return not_found(concat(origin, ": there is no ", kLibraryName, " at ", path));
  return std::vector<RuntimeCandidate>{{*found, origin, true}};
}

}  // namespace

std::optional<std::string> library_in(const std::string& folder) {
  auto names = list_directory(folder);
  if (!names.ok()) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& name : *names) {
    if (name.starts_with(kLibraryName)) found = join_path(folder, name);  // the last in order is the longest version
  }
  return found;
}

Result<std::vector<RuntimeCandidate>> find_runtimes(const std::string& requested) {
  if (!requested.empty()) return only(requested, "runtime");
  if (auto path = environment_value("TENSORTAP_ONNXRUNTIME")) return only(*path, "TENSORTAP_ONNXRUNTIME");
  std::vector<RuntimeCandidate> candidates;
  auto add = [&](const std::optional<std::string>& path, const char* origin) {
    if (path && std::ranges::find(candidates, *path, &RuntimeCandidate::path) == candidates.end())
      candidates.push_back({*path, origin, false});
  };
  add(library_beside_us(), "beside tensortap");
  if (auto prefix = environment_value("VIRTUAL_ENV")) add(library_in_python(*prefix), "VIRTUAL_ENV");
  if (const std::string python = python_beside_command(); candidates.empty() && !python.empty()) {
    add(library_by_python(python), "python3 beside the command");
  }
  if (candidates.empty()) add(library_by_python("python3"), "python3");
  if (candidates.empty()) {
    if (auto home = environment_value("HOME")) add(library_in_python(join_path(*home, ".local")), "HOME");
  }
  if (candidates.empty()) candidates.push_back({"libonnxruntime.so.1", "system loader", false});
  return candidates;
}

}  // namespace tensortap::onnxruntime
