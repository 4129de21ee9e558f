// Our own manifests beside the tree of another system.

#ifndef TENSORTAP_TREE_MANIFESTS_H_
#define TENSORTAP_TREE_MANIFESTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tree/walk.h"

namespace tensortap {

// The folder that they lie in.
inline constexpr std::string_view kManifestFolder = ".tensortap";

// The paths of all files in the companion folders of that name, in order.
std::vector<std::string> manifests_of(const Tree& tree);

// The text of one, "{}" when it cannot be read or is no JSON object.
std::string read_manifest(const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_MANIFESTS_H_
