#include "read/dump_parts.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostPartFolders = 10000;  // looked into

constexpr std::string_view kNoise = "noise";

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

std::vector<std::string> noise_dumps(const std::string& path) {
  const auto found = locate_dump(path);
  if (!found.ok()) return {};
  const auto names = list_directory(found->folder);
  if (!names.ok()) return {};
  std::map<int64_t, std::string> by_number;
  for (const std::string& name : *names) {
    int64_t number = 0;
    if (!name.starts_with(kNoise) || !parse_integer(name.substr(kNoise.size()), number) || number < 1) continue;
    const std::string folder = join_path(found->folder, name);
    if (recognise_layout(folder) != nullptr) by_number.emplace(number, folder);
  }
  std::vector<std::string> folders;
  for (auto& [number, folder] : by_number) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace tensortap
