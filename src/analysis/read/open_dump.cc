#include "read/open_dump.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "read/file_dump.h"
#include "read/restored_dump.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr int kDepth = 3;
constexpr size_t kMostFolders = 10000;  // looked into
constexpr size_t kNamesInMessage = 5;

void find_below(const std::string& folder, int depth, size_t& budget, std::vector<FoundDump>& found) {
  if (const Layout* layout = recognise_layout(folder)) {
    found.push_back({folder, layout});
    return;
  }
  if (depth == 0) return;
  const auto names = list_directory(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = join_path(folder, name);
    if (budget == 0 || !is_directory(path)) continue;
    --budget;
    find_below(path, depth - 1, budget, found);
  }
}

std::string first_names(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names.ok() || names->empty()) return "it is empty";
  std::string text = "it holds ";
  for (size_t i = 0; i < std::min(names->size(), kNamesInMessage); ++i) text += concat(i > 0 ? ", " : "", quote((*names)[i]));
  if (names->size() > kNamesInMessage) text += concat(" and ", names->size() - kNamesInMessage, " more");
  return text;
}

// Whether the file is one of several that make up a dump of ours. In other systems' trees each file counts by itself.
bool is_part_of_a_dump(const std::string& path) {
  const Layout* layout = recognise_layout(parent_path(path));
  return layout != nullptr && layout->name == "tap";
}

}  // namespace

const Layout* recognise_layout(const std::string& folder) {
  const Layout* best = nullptr;
  Confidence confidence = Confidence::kNo;
  for (const Layout& layout : layouts()) {
    const Confidence found = layout.recognise(folder);
    if (found > confidence) best = &layout;
    confidence = std::max(confidence, found);
  }
  return best;
}

Result<FoundDump> locate_dump(const std::string& path) {
  if (!path_exists(path)) return not_found(concat(path, ": no such dump. A dump is the folder that tensortap run --out made."));
  if (!is_directory(path)) {
    const bool in_dump = recognise_layout(parent_path(path)) != nullptr;
    return invalid_argument(concat(path, ": a file, not a dump; ",
                                   in_dump ? concat("give the folder that holds it (", parent_path(path), ")")
                                           : "a dump is the folder that tensortap run --out made"));
  }
  std::vector<FoundDump> found;
  size_t budget = kMostFolders;
  find_below(path, kDepth, budget, found);
  if (found.empty()) return not_found(concat(path, ": no dump is here or below; ", first_names(path)));
  if (found.size() == 1) return found[0];
  std::string message = concat(path, ": ", found.size(), " dumps are below; give one of them:");
  for (size_t i = 0; i < std::min(found.size(), kNamesInMessage); ++i) message += concat(i > 0 ? ", " : " ", found[i].folder);
  if (found.size() > kNamesInMessage) message += ", ...";
  return invalid_argument(message);
}

Result<std::unique_ptr<DumpIndex>> open_dump(const std::string& path) {
  if (is_tensor_file(path) && !is_part_of_a_dump(path)) return open_tensor_file(path);
  TENSORTAP_ASSIGN_OR_RETURN(const FoundDump found, locate_dump(path));
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, found.layout->open(found.folder));
  return restore_dump(std::move(dump), found.folder);
}

}  // namespace tensortap
