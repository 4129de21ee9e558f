#include "tree/manifests.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/json_members.h"
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

void add_gaps(const Json& manifest, Json& joined) {
  if (const uint64_t unseen = count_in(manifest, "not_looked_at"); unseen > 0) {
    joined["not_looked_at"] = std::max(count_in(joined, "not_looked_at") + unseen, unseen);
  }
  const Json* losses = member(manifest, "losses");
  if (losses == nullptr || !losses->is_array()) return;
  for (const Json& loss : *losses) joined["losses"].push_back(loss);
}

Json join_manifests(const std::vector<std::string>& paths) {
  Json joined = Json::object();
  for (const std::string& path : paths) {
    const Result<Json> manifest = parse_json(read_manifest(path), path);
    if (!manifest.ok() || !manifest->is_object()) continue;
    if (paths.size() == 1) return *manifest;
    add_gaps(*manifest, joined);
  }
  return joined;
}

}  // namespace tensortap
