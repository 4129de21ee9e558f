#include "cli/launch/torch_installation.h"

#include <array>
#include <filesystem>

#include "base/code_file.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/launch/child_process.h"
#include "cli/launch/elf_file.h"

namespace tensortap::cli {
namespace {

constexpr int kMajor = 2;
constexpr int kOldestMinor = 4;   // the oldest release that the wheel has an adapter for; one compiled for 2.3 may work
constexpr int kNewestMinor = 15;  // the newest release that the wheel has an adapter for (tools/torch_releases.py)
constexpr std::string_view kLibrary = "libtorch_cpu.so";
constexpr const char* kEntry = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";

// The folder where the interpreter would find the package; sys.path[0] is that of a program, not of this question.
constexpr const char* kQuestion =
    "import sys\n"
    "sys.path[:1] = [] if sys.path[:1] == [''] else sys.path[:1]\n"
    "import importlib.util\n"
    "spec = importlib.util.find_spec('torch')\n"
    "places = list(spec.submodule_search_locations or []) if spec else []\n"
    "print('TORCH ' + places[0] if places else 'NONE')\n";

// Distributions add a version to the name.
std::string library_in(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    if (name.starts_with(kLibrary) && (name.size() == kLibrary.size() || name[kLibrary.size()] == '.')) return join_path(folder, name);
  }
  return {};
}

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

Status read_library(TorchInstallation& torch) {
  TENSORTAP_ASSIGN_OR_RETURN(torch.release, torch_release_beside(torch.library));
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::open(torch.library));
  const auto file = ElfFile::parse(map.bytes());
  if (!file) return corrupt(concat(torch.library, " is no shared library"));
  if (!file->defines(kEntry)) {
    return unsupported(concat(torch.library, " (torch ", torch.release.text,
                              ") does not export the function that its operators would be seen "
                              "through; torch 2.4 and later do"));
  }
  torch.string_abi = file->defines(kTorchStringAbiOne) ? 1 : 0;
  if (torch.string_abi == 0 && !file->defines(kTorchStringAbiZero)) {
    return not_found(concat("the string ABI of ", torch.library, " is unknown: it exports no at::show_config()"));
  }
  return {};
}

}  // namespace

Result<TorchInstallation> torch_in(const std::string& folder) {
  TorchInstallation torch;
  std::error_code error;
  torch.folder = std::filesystem::absolute(folder, error).lexically_normal().string();
  while (torch.folder.size() > 1 && torch.folder.ends_with('/')) torch.folder.pop_back();
  for (const char* place : {"lib", "", "lib64", "torch/lib"}) {
    if (torch.library = library_in(*place == '\0' ? torch.folder : join_path(torch.folder, place)); !torch.library.empty()) break;
  }
  if (torch.library.empty()) return not_found(concat("there is no libtorch_cpu.so in ", torch.folder, " or in its lib"));
  const std::string above = parent_path(torch.library);
  for (const char* place : {"../include", "../../include"}) {
    std::string includes = normal(join_path(above, place));
    if (!path_exists(join_path(includes, "ATen/record_function.h"))) continue;
    torch.includes = std::move(includes);
    break;
  }
  TENSORTAP_RETURN_IF_ERROR(read_library(torch));
  return torch;
}

Result<TorchInstallation> torch_headers(const std::string& includes, const std::string& release, int string_abi) {
  TorchInstallation torch;
  std::error_code error;
  torch.folder = std::filesystem::absolute(includes, error).lexically_normal().string();
  torch.includes = torch.folder;
  torch.string_abi = string_abi;
  const auto parsed = parse_torch_release(release);
  if (!parsed) return invalid_argument(concat("--release ", quote(release), " is no release of torch, such as 2.8.0"));
  torch.release = *parsed;
  if (!path_exists(join_path(torch.includes, "ATen/record_function.h"))) {
    return invalid_argument(concat("there are no headers of torch (ATen/record_function.h) in ", torch.includes));
  }
  return torch;
}

Result<TorchInstallation> torch_of_python(const std::string& python) {
  const auto answer = ask_program({python, "-c", kQuestion});
  if (!answer.ok()) return not_found(concat("the interpreter ", quote(python), " cannot be started: ", answer.status().message()));
  std::string folder;
  for (const std::string_view line : split(answer->out, '\n')) {
    constexpr std::string_view kFound = "TORCH ";
    if (line.starts_with(kFound)) folder = line.substr(kFound.size());
  }
  if (folder.empty()) return not_found(concat("the interpreter ", quote(python), " has no package torch"));
  TENSORTAP_ASSIGN_OR_RETURN(TorchInstallation torch, torch_in(folder));
  torch.python = python;
  return torch;
}

Result<std::string> adapter_for(const TorchInstallation& torch, const InstalledFiles& installed) {
  const std::string name = torch_adapter_file(torch.release.major, torch.release.minor, torch.string_abi);
  for (const std::string& folder : adapter_folders(installed)) {
    if (folder == installed.adapters && !is_torch_release(torch.release.text)) continue;
    const std::string path = join_path(folder, name);
    if (!path_exists(path)) continue;
    const Result<std::string> trusted = trusted_code_file(path, installed.libraries);
    if (!trusted.ok()) return unsupported(concat("the adapter ", path, " is not used: ", trusted.status().message()));
    return path;
  }
  return not_found(concat("there is no adapter for torch ", torch.release.text));
}

std::string release_note(const TorchRelease& release) {
  const bool older = release.major < kMajor || (release.major == kMajor && release.minor < kOldestMinor);
  const bool newer = release.major > kMajor || (release.major == kMajor && release.minor > kNewestMinor);
  if (!older && !newer) return {};
  return concat(" This tensortap supports torch ", kMajor, ".", kOldestMinor, " to ", kMajor, ".", kNewestMinor, "; ", release.text, " is ",
                older ? "older" : "newer: look for a newer tensortap, or install one of these");
}

std::string build_command(const TorchInstallation& torch) {
  return torch.python.empty() ? concat("tensortap build-adapter --libtorch ", torch.folder)
                              : concat("tensortap build-adapter --python ", torch.python);
}

}  // namespace tensortap::cli
