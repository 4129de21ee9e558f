#include "cli/launch/installed_files.h"

#include <dlfcn.h>
#include <tensortap/capture.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "base/environment.h"
#include "base/files.h"
#include "base/fnv.h"
#include "base/text.h"
#include "exec/torch_files.h"

namespace tensortap::cli {
namespace {

constexpr uint64_t kMostSourceBytes = uint64_t{16} << 20;

// The folder of the library that holds tensortap_version().
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&tensortap_version), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::string() : path.parent_path().string();
}

// The first of the places, relative to `folder`, that has `file` in it; "" = none.
std::string first_with(const std::string& folder, std::initializer_list<const char*> places, const char* file) {
  for (const char* place : places) {
    std::string path = std::filesystem::path(join_path(folder, place)).lexically_normal().string();
    if (path.ends_with('/')) path.pop_back();  // what "a/b/.." comes to
    if (path_exists(join_path(path, file))) return path;
  }
  return {};
}

int interface_version_in(std::string_view header) {
  constexpr std::string_view kName = "#define TENSORTAP_ADAPTER_INTERFACE_VERSION ";
  const size_t at = header.find(kName);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = header.substr(at + kName.size());
  int64_t number = 0;
  return parse_integer(trim(rest.substr(0, rest.find('\n'))), number) && number > 0 && number < 1000000 ? static_cast<int>(number) : 0;
}

}  // namespace

std::string hexadecimal(uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15];
  return text;
}

Result<InstalledFiles> find_installed_files() {
  const std::string libraries = library_folder();
  InstalledFiles files;
  files.libraries = libraries;
  files.preload_library = join_path(libraries, "libtensortap_preload.so");
  files.pytorch_library = join_path(libraries, "libtensortap_pytorch.so");
  files.onnxruntime_library = join_path(libraries, "libtensortap_onnxruntime.so");
  files.ggml_library = join_path(libraries, "libtensortap_ggml.so");
  for (const std::string& path : files.loaded()) {
    if (!path_exists(path)) return not_found(concat(path, " is missing; tensortap is not installed completely"));
  }
  files.adapter_sources =
      first_with(libraries, {"../share/tensortap/adapter", "share/tensortap/adapter"}, "source/pytorch/adapter/adapter_interface.h");
  files.adapters = join_path(libraries, "adapters");
  files.python_package = first_with(libraries, {"../..", "python"}, "tensortap/__init__.py");
  return files;
}

AclFiles find_acl_files() {
  const std::string libraries = library_folder();
  AclFiles files;
  files.library = join_path(libraries, "libtensortap_acl.so");
  if (!path_exists(files.library)) files.library.clear();
  files.headers = first_with(libraries, {"../include", "../../include"}, "acl/acl.h");
  return files;
}

AtbFiles find_atb_files() {
  const std::string libraries = library_folder();
  AtbFiles files{join_path(libraries, "libtensortap_atb.so"), join_path(libraries, "libtensortap_atb_abi0.so")};
  for (std::string* path : {&files.library, &files.library_abi0}) {
    if (!path_exists(*path)) path->clear();
  }
  return files;
}

Result<AdapterSources> find_adapter_sources(const InstalledFiles& installed) {
  if (installed.adapter_sources.empty()) return not_found("the sources of the adapters are not installed with this tensortap");
  const std::string pytorch = join_path(installed.adapter_sources, "source/pytorch");
  TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(join_path(pytorch, "adapter")));
  std::vector<std::string> read = {join_path(installed.adapter_sources, "tensortap/capture.h")};
  AdapterSources sources;
  for (const std::string& name : names) {
    const bool source = name.ends_with(".cc") && !name.ends_with("_test.cc");
    if (!source && !name.ends_with(".h")) continue;
    read.push_back(join_path(join_path(pytorch, "adapter"), name));
    if (source) sources.files.push_back(read.back());
  }
  uint64_t hash = kFirstHash;
  for (const std::string& path : read) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMostSourceBytes));
    hash = hash_more(hash_more(hash, file_name(path)), text);
    if (file_name(path) == "adapter_interface.h") sources.interface_version = interface_version_in(text);
  }
  if (sources.files.empty() || sources.interface_version == 0) {
    return not_found(concat("the sources of the adapters in ", pytorch, " are not complete"));
  }
  sources.hash = hexadecimal(hash);
  return sources;
}

Result<std::string> user_cache_folder() {
  auto cache = environment_value("XDG_CACHE_HOME");
  if (!cache || !cache->starts_with('/')) {
    const auto home = environment_value("HOME");
    if (!home) return not_found("no folder to keep files in: neither XDG_CACHE_HOME nor HOME is set");
    cache = join_path(*home, ".cache");
  }
  return join_path(*cache, "tensortap");
}

Result<std::string> adapter_cache(const AdapterSources& sources) {
  const auto cache = user_cache_folder();
  if (!cache.ok()) return not_found(concat(cache.status().message(), ". Choose a folder for adapters with --out"));
  return join_path(*cache, concat("adapters/", sources.interface_version, "-", sources.hash));
}

std::vector<std::string> adapter_folders(const InstalledFiles& installed) {
  std::vector<std::string> folders = {installed.adapters};
  if (const auto sources = find_adapter_sources(installed); sources.ok()) {
    if (auto cache = adapter_cache(*sources); cache.ok()) folders.push_back(*std::move(cache));
  }
  return folders;
}

std::string adapter_releases(const InstalledFiles& installed) {
  const auto names = list_directory(installed.adapters);
  std::set<std::pair<int, int>> releases;
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto release = torch_release_of_adapter(name);
    if (release) releases.emplace(release->major, release->minor);
  }
  std::vector<std::string> parts;
  for (auto at = releases.begin(); at != releases.end(); ++at) {
    const auto first = at;
    while (std::next(at) != releases.end() && std::next(at)->first == at->first && std::next(at)->second == at->second + 1) ++at;
    parts.push_back(concat(first->first, ".", first->second));
    if (at != first) parts.back() += concat(at == std::next(first) ? ", " : " to ", at->first, ".", at->second);
  }
  return join(parts, ", ");
}

}  // namespace tensortap::cli
