#include "tree/manifests.h"

#include <cstdint>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kLargestManifest = uint64_t{64} << 20;

}  // namespace

std::vector<std::string> manifests_of(const Tree& tree) {
  std::vector<std::string> paths;
  for (const std::string& folder : tree.companion_folders) {
    if (file_name(folder) != kManifestFolder) continue;
    const auto names = list_directory(folder);
    for (size_t i = 0; names.ok() && i < names->size(); ++i) {
      std::string path = join_path(folder, (*names)[i]);
      // A session that runs, or that was killed, has a separate folder there (base/running_captures.h).
      if (!is_own_directory(path)) paths.push_back(std::move(path));
    }
  }
  return paths;
}

std::string read_manifest(const std::string& path) {
  auto text = read_file(path, kLargestManifest);
  return text.ok() && text->starts_with("{") ? *std::move(text) : "{}";
}

}  // namespace tensortap
