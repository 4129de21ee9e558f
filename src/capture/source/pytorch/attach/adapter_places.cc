#include "source/pytorch/attach/adapter_places.h"

#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/code_file.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {
namespace {

int note_libtorch(dl_phdr_info* info, size_t /*size*/, void* found) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("libtorch_cpu.so")) return 0;
  *static_cast<std::string*>(found) = path;
  return 1;
}

// Seconds of the last change, 0 when the file does not exist.
int64_t changed(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? int64_t{facts.st_mtim.tv_sec} : 0;
}

std::string cache_folder() {
  const auto cache = environment_value("XDG_CACHE_HOME");
  if (cache && cache->starts_with('/')) return join_path(*cache, "tensortap/adapters");
  const auto home = environment_value("HOME");
  return home ? join_path(*home, ".cache/tensortap/adapters") : "";
}

}  // namespace

std::string loaded_libtorch() {
  std::string path;
  dl_iterate_phdr(note_libtorch, &path);
  return path;
}

std::string package_adapters() {
  static const int here = 0;
  const std::string own = folder_of_code(&here);
  return own.empty() ? "" : join_path(own, "adapters");
}

std::vector<std::string> adapter_places() {
  std::vector<std::string> places;
  if (std::string own = package_adapters(); !own.empty()) places.push_back(std::move(own));
  const std::string cache = cache_folder();
  const auto names = list_directory(cache);
  if (cache.empty() || !names.ok()) return places;
  std::vector<std::pair<int64_t, std::string>> built;
  const std::string prefix = concat(TENSORTAP_ADAPTER_INTERFACE_VERSION, "-");
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) built.emplace_back(changed(join_path(cache, name)), join_path(cache, name));
  }
  std::ranges::sort(built, std::greater<>());
  for (auto& [when, folder] : built) places.push_back(std::move(folder));
  return places;
}

}  // namespace tensortap::pytorch
