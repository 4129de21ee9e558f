#include "read/dump_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/files.h"
#include "base/json_members.h"
#include "base/process_role.h"
#include "base/running_captures.h"
#include "base/text.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostPartFolders = 10000;  // looked into

constexpr std::string_view kNoise = "noise";

bool is_part_name(std::string_view name) { return name.starts_with("rank_") || name.starts_with("process_") || name.starts_with("model_"); }

// Whether only a capture gives such a name to a folder: "process_17", "process_17-2", "rank_3".
bool is_of_process(std::string_view name) {
  const size_t begin = name.find('_');
  return !name.starts_with("model_") && is_part_name(name) && is_digits(name.substr(begin + 1, 1));
}

struct FoundParts {
  std::vector<std::string> dumps;
  std::vector<std::string> empty;  // folders of processes without a dump, and without parts
};

FoundParts look_below(const std::string& folder) {
  FoundParts found;
  std::vector<std::string> places = {folder};
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string place = places[i];
    const Layout* layout = recognise_layout(place);
    if (layout != nullptr) found.dumps.push_back(place);
    if (layout != nullptr && layout->shares_folder) continue;
    const size_t before = places.size();
    const auto names = list_directory(place);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      const std::string path = join_path(place, name);
      if (is_part_name(name) && places.size() < kMostPartFolders && is_directory(path)) places.push_back(path);
    }
    if (layout == nullptr && places.size() == before && i > 0 && is_of_process(file_name(place))) found.empty.push_back(place);
  }
  return found;
}

// What the process of a dump says of itself in one of its files, while it runs and afterwards. `path`: the dump, or a report.
std::string role_of(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  std::vector<std::string> files = {path};
  if (is_directory(path)) {
    files.clear();
    for (const std::string_view name : {std::string_view("run.json"), std::string_view(".dump_metadata/tensortap_run.json"), kSessionFile})
      files.push_back(join_path(path, name));
  }
  for (const std::string& file : files) {
    const auto text = read_file(file, kMostBytes);
    const auto json = text.ok() ? parse_json(*text, file) : Result<Json>(text.status());
    const std::string role = json.ok() ? process_role(member_or_null(*json, "process")) : "";
    if (!role.empty()) return role;
  }
  return {};
}

std::string name_below(const std::string& folder, const std::string& path) {
  const size_t begin = path.find_first_not_of('/', std::min(folder.size(), path.size()));
  return begin == std::string::npos ? std::string(kFirstPart) : path.substr(begin);
}

// The name without what tells models of one process apart.
std::string process_of(std::string_view name) {
  std::vector<std::string> kept;
  for (const std::string_view word : split(name, '/')) {
    if (word != kFirstPart && !word.starts_with("model_")) kept.emplace_back(word);
  }
  return join(kept, "/");
}

// Adds the parts of this name or in the folder of this name, or, where there are none, those whose role contains it.
bool add_named(std::span<const DumpPart> parts, std::string_view word, std::vector<DumpPart>& chosen) {
  const auto add = [&](auto&& is_meant) {
    bool any = false;
    for (const DumpPart& part : parts) {
      if (!is_meant(part)) continue;
      any = true;
      if (std::ranges::find(chosen, part.name, &DumpPart::name) == chosen.end()) chosen.push_back(part);
    }
    return any;
  };
  return add([word](const DumpPart& part) { return part.name == word || part.name.starts_with(concat(word, "/")); }) ||
         add([word](const DumpPart& part) { return contains_ignoring_case(part.role, word); });
}

}  // namespace

std::vector<std::string> dump_parts(const std::string& folder) { return look_below(folder).dumps; }

Result<std::vector<DumpPart>> find_parts(const std::string& path) {
  if (!is_directory(path)) return std::vector<DumpPart>{{path, std::string(kFirstPart), ""}};
  std::string folder = path;
  FoundParts found = look_below(folder);
  if (found.dumps.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(const FoundDump dump, locate_dump(path));
    folder = dump.folder;
    found = look_below(folder);
  }
  found.dumps.insert(found.dumps.end(), found.empty.begin(), found.empty.end());
  std::vector<DumpPart> parts;
  // The role tells parts apart.
  const bool are_several = found.dumps.size() > 1;
  for (const std::string& one : found.dumps) {
    parts.push_back(are_several ? part_at(folder, one) : DumpPart{one, name_below(folder, one), ""});
  }
  return parts;
}

DumpPart part_at(const std::string& folder, const std::string& path) { return {path, name_below(folder, path), role_of(path)}; }

Result<std::vector<DumpPart>> chosen_parts(std::span<const DumpPart> parts, std::string_view words) {
  std::vector<DumpPart> chosen;
  if (words.empty()) chosen.assign(parts.begin(), parts.end());
  for (const std::string_view word : words.empty() ? std::vector<std::string_view>() : split(words, ',')) {
    if (add_named(parts, trim(word), chosen)) continue;
    std::string names;
    for (const DumpPart& part : parts) names += concat(names.empty() ? "" : ", ", part_title(part));
    return not_found(concat(quote(trim(word)), ": no part of the dump has this name, and no process is called so. The parts are ", names));
  }
  return chosen;
}

std::string part_title(const DumpPart& part) { return part.role.empty() ? part.name : concat(part.name, " (", part.role, ")"); }

std::string parts_text(std::span<const DumpPart> parts) {
  std::set<std::string> processes;
  std::set<std::string> ranks;
  for (const DumpPart& part : parts) {
    processes.insert(process_of(part.name));
    const size_t rank = part.name.find("rank_");
    if (rank != std::string::npos) ranks.insert(part.name.substr(rank, part.name.find('/', rank) - rank));
  }
  const std::string of_processes = processes.size() == 1 ? "1 process" : concat(processes.size(), " processes");
  if (processes.size() == 1) return concat(counted(parts.size(), "dump"), " of ", of_processes);
  if (ranks.size() == processes.size()) return counted(ranks.size(), "rank");
  return ranks.size() > 1 ? concat(of_processes, " of ", counted(ranks.size(), "rank")) : of_processes;
}

Json part_json(const DumpPart& part) { return {{"part", part.name}, {"role", text_or_null(part.role)}, {"path", part.path}}; }

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
