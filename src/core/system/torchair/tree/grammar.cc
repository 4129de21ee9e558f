#include "system/torchair/tree/grammar.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"
#include "system/torchair/tree/file_name.h"

namespace tensortap::torchair {
namespace {

// TreeFolder::level
enum FolderLevel : uint8_t { kTop, kRank, kGraph, kStep };

constexpr size_t kMostLevels = 3;

std::optional<int32_t> rank_of(std::string_view name) {
  constexpr std::string_view kBegin = "worldsize";
  constexpr std::string_view kMiddle = "_global_rank";
  const size_t middle = name.find(kMiddle);
  if (!name.starts_with(kBegin) || middle == std::string_view::npos) return std::nullopt;
  const std::string_view rank = name.substr(middle + kMiddle.size());
  uint64_t number = 0;
  const bool is_rank = is_digits(name.substr(kBegin.size(), middle - kBegin.size())) && is_digits(rank) && parse_unsigned(rank, number) &&
                       number <= std::numeric_limits<int32_t>::max();
  return is_rank ? std::optional(static_cast<int32_t>(number)) : std::nullopt;
}

bool is_graph(std::string_view name) {
  constexpr std::string_view kBegin = "graph_";
  return name.starts_with(kBegin) && is_digits(name.substr(kBegin.size()));
}

FolderRole enter_folder(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  int64_t step = 0;
  if (const auto rank = rank_of(name); rank && above.level < kRank) {
    below.level = kRank;
    below.rank = *rank;
  } else if (is_graph(name) && above.level < kGraph) {
    below.level = kGraph;
    below.model = name;
  } else if (is_digits(name) && parse_integer(name, step) && above.level < kStep) {
    below.level = kStep;
    below.step = step;
  } else {
    return FolderRole::kForeign;
  }
  return FolderRole::kPart;
}

// What the folder's own name and those above it tell.
std::vector<TreePlace> places_of(const std::string& path) {
  const std::vector<std::string> parts = real_parts(path);
  TreePlace named;
  for (size_t i = parts.size() - std::min(parts.size(), kMostLevels); i < parts.size(); ++i) {
    TreeFolder below = named.folder;
    // A name that fits nowhere means that those above it tell nothing.
    named.folder = enter_folder(named.folder, parts[i], below) == FolderRole::kPart ? below : TreeFolder();
  }
  return {named};
}

FileRole role_of(const TreeFolder& /*folder*/, std::string_view name, EntryKind kind) {
  if (!parse_file_name(name)) return FileRole::kForeign;
  return kind == EntryKind::kFile ? FileRole::kTensors : FileRole::kNoFile;
}

bool proves_dump(const TreeFolder& /*folder*/, const FolderNames& names) {
  return std::ranges::any_of(names.entries, [&](const FolderEntry& entry) {
    return entry.kind == EntryKind::kFile && parse_file_name(names.name(entry)).has_value();
  });
}

}  // namespace

constexpr TreeGrammar kGrammar = {.places = places_of,
                                  .enter = enter_folder,
                                  .role = role_of,
                                  .proves = proves_dump,
                                  .tell = report_trouble,
                                  .missing = ": no FX data dump: no file NODE-TARGET.INPUT.I.TIME.npy is here or in graph_N/STEP below",
                                  .most_files = size_t{1} << 20};

}  // namespace tensortap::torchair
