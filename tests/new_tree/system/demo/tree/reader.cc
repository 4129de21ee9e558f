#include "system/demo/tree/tree.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "tree/manifests.h"
#include "tree/npy_heads.h"
#include "tree/tree_index.h"

namespace tensortap::demo {
namespace {

std::optional<SlotFile> parse_slot_file(std::string_view name) {
  const auto parts = split(name, '.');
  const bool is_input = parts[0].starts_with("in");
  if (parts.size() < 2 || parts.size() > 3 || parts.back() != "npy" || (!is_input && !parts[0].starts_with("out"))) return std::nullopt;
  uint64_t slot = 0;
  uint64_t times = 0;
  const bool is_numbered = parts.size() == 2 || parse_unsigned(parts[1], times);
  if (!is_numbered || !parse_unsigned(parts[0].substr(is_input ? 2 : 3), slot) || std::max(slot, times) > UINT32_MAX) return std::nullopt;
  return SlotFile{is_input, static_cast<uint32_t>(slot), static_cast<uint32_t>(times)};
}

bool is_op_folder(std::string_view name) {
  const size_t end = name.find('_');
  return end != std::string_view::npos && is_digits(name.substr(0, end));
}

enum Level : uint8_t { kTop, kStep, kOp };  // TreeFolder::level

FolderRole enter_folder(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  below.level = static_cast<uint8_t>(above.level + 1);
  if (above.level == kTop && parse_integer(name, below.step)) return FolderRole::kPart;
  below.graph = name;
  return above.level == kStep && is_op_folder(name) ? FolderRole::kPart : FolderRole::kForeign;
}

FileRole role_of(const TreeFolder& folder, std::string_view name, EntryKind kind) {
  if (folder.level == kTop && name == kManifest) return FileRole::kCompanion;
  if (folder.level != kOp || !parse_slot_file(name)) return FileRole::kForeign;
  return kind == EntryKind::kFile ? FileRole::kTensors : FileRole::kNoFile;
}

constexpr TreeGrammar kGrammar = {.places = [](const std::string&) { return std::vector<TreePlace>{TreePlace()}; },
                                  .enter = enter_folder,
                                  .role = role_of,
                                  .proves = [](const TreeFolder&, const FolderNames&) { return true; },
                                  .tell = report_trouble};

class Index : public TreeIndex {
 public:
  explicit Index(TreeContent content) : TreeIndex("demo", std::move(content)) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& record) const override {
    if ((record.flags & kRecordHasData) == 0) return corrupt(concat(path_of(row), ": cut short"));
    return map_npy(path_to_open(row), record.desc());
  }
};

TreeRows read_rows(const Tree& tree, TreeProblems& problems) {
  const std::vector<FileHead> heads = read_heads(tree);
  std::vector<uint32_t> files(tree.files.size());
  for (uint32_t file = 0; file < files.size(); ++file) files[file] = file;
  const auto folder_of = [&](uint32_t file) -> const TreeFolder& { return tree.folders[tree.files[file].folder]; };
  std::ranges::sort(files, {},
                    [&](uint32_t file) { return std::tuple(folder_of(file).step, folder_of(file).graph, tree.files[file].name); });
  TreeRows rows;
  std::map<std::string_view, OpId> ops;
  for (const uint32_t file : files) {
    const TreeFolder& folder = folder_of(file);
    const auto name = parse_slot_file(tree.files[file].name);
    if (!name || !heads[file].damage.empty()) {
      problems.add(Skipped::kTensorFile, concat(relative_to_tree(folder, tree.files[file].stored), ": ", heads[file].damage));
      continue;
    }
    const auto [op, is_new] = ops.try_emplace(folder.graph, static_cast<OpId>(rows.ops.size()));
    if (is_new) rows.ops.emplace_back().name = folder.graph.substr(folder.graph.find('_') + 1);
    RecordRow row = tree_row(folder, op->second, name->is_input ? SlotKind::kInput : SlotKind::kOutput, name->slot, 0);
    row.call = name->times;
    row.set_desc(heads[file].head.desc);
    row.flags |= heads[file].head.short_of ? kRecordDataLost : kRecordHasData;
    row.data_bytes = heads[file].head.data_bytes;
    rows.add(row, tree.files[file].folder, file);
  }
  finish_ops(rows);
  return rows;
}

}  // namespace

Confidence recognise_tree(const std::string& folder) {
  return path_exists(join_path(folder, kManifest)) ? Confidence::kCertain : Confidence::kNo;
}

Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder) {
  if (recognise_tree(folder) == Confidence::kNo) return not_found(concat(folder, ": no ", kManifest, " is here"));
  TreeProblems problems;
  TENSORTAP_ASSIGN_OR_RETURN(Tree tree, walk_tree(kGrammar, folder, problems));
  TreeRows rows = read_rows(tree, problems);
  std::string manifest = read_manifest(join_path(folder, kManifest));
  TreeContent content{std::move(tree), std::move(rows), std::move(manifest), problems.take(), problems.damage()};
  return std::unique_ptr<DumpIndex>(std::make_unique<Index>(std::move(content)));
}

}  // namespace tensortap::demo
