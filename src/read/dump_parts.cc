#include "read/dump_parts.h"

#include <string_view>

#include "base/files.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostPartFolders = 10000;  // looked into

bool is_part_name(std::string_view name) { return name.starts_with("rank_") || name.starts_with("process_") || name.starts_with("model_"); }

}  // namespace

std::vector<std::string> dump_parts(const std::string& folder) {
  std::vector<std::string> dumps;
  std::vector<std::string> places = {folder};
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string place = places[i];
    const Layout* layout = recognise_layout(place);
    if (layout != nullptr) dumps.push_back(place);
    if (layout != nullptr && layout->shares_folder) continue;
    const auto names = list_directory(place);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string path = join_path(place, name);
      if (is_part_name(name) && places.size() < kMostPartFolders && is_directory(path)) places.push_back(path);
    }
  }
  return dumps;
}

}  // namespace tensortap
