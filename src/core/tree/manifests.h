// Our own manifests beside the tree of another system.

#ifndef TENSORTAP_TREE_MANIFESTS_H_
#define TENSORTAP_TREE_MANIFESTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "tree/walk.h"

namespace tensortap {

// The folder that they lie in.
inline constexpr std::string_view kManifestFolder = ".tensortap";

// The paths of all files in the companion folders of that name, in order.
std::vector<std::string> manifests_of(const Tree& tree);

// The text of one, "{}" when it cannot be read or is no JSON object.
std::string read_manifest(const std::string& path);

// Adds the values that a manifest lists as missing ("not_looked_at", "losses") to a manifest of several dumps.
void add_gaps(const Json& manifest, Json& joined);

// The manifest of the dumps in one tree: that of the only one, and of several their gaps.
Json join_manifests(const std::vector<std::string>& paths);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_MANIFESTS_H_
