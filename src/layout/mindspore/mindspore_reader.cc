#include "layout/mindspore/mindspore_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "layout/mindspore/npy_mapped.h"
#include "layout/mindspore/tree_rows.h"

namespace tensortap {
namespace {

constexpr uint64_t kLargestMetadata = uint64_t{16} << 20;

class MindSporeIndex : public DumpIndex {
 public:
  MindSporeIndex(mindspore_tree::Tree tree, mindspore_tree::TreeRows content, std::string manifest, std::vector<std::string> problems)
      : tree_(std::move(tree)), content_(std::move(content)), manifest_(std::move(manifest)), problems_(std::move(problems)) {}

  std::string_view layout() const override { return "mindspore"; }
  std::span<const RecordRow> rows() const override { return content_.rows; }
  std::span<const OpInfo> ops() const override { return content_.ops; }
  std::string manifest() const override { return manifest_; }
  std::span<const std::string> problems() const override { return problems_; }
  std::vector<uint64_t> histogram(size_t /*row*/) const override { return {}; }

  Result<RecordData> data(size_t row) const override {
    if (row >= content_.rows.size()) {
      return invalid_argument(concat("the dump has ", content_.rows.size(), " records; there is no record ", row));
    }
    const RecordRow& record = content_.rows[row];
    if ((record.flags & kRecordDataLost) != 0) {
      return content_.files[row] == mindspore_tree::kNoFile
                 ? not_found("the record's file is damaged; it has its statistics")
                 : corrupt(concat(file(row), ": cut short: the record's values are not all there"));
    }
    if ((record.flags & kRecordHasData) == 0) return not_found("the record has statistics only; dump with saved_data full to keep values");
    const mindspore_tree::TensorFile& found = tree_.files[content_.files[row]];
    return mindspore_tree::map_npy(join_path(tree_.folders[found.folder].path, found.file_name), record.desc());
  }

  std::string file(size_t row) const override {
    if (row >= content_.rows.size()) return "";
    const mindspore_tree::LeafFolder& folder = tree_.folders[content_.folders[row]];
    const uint32_t number = content_.files[row];
    const std::string_view name = number == mindspore_tree::kNoFile ? "statistic.csv" : tree_.files[number].file_name;
    return folder.relative.empty() ? std::string(name) : join_path(folder.relative, name);
  }

 private:
  mindspore_tree::Tree tree_;
  mindspore_tree::TreeRows content_;
  std::string manifest_;
  std::vector<std::string> problems_;
};

// What .dump_metadata of the first rank says: the configuration and the version.
std::string read_metadata(const mindspore_tree::Tree& tree) {
  Json manifest = Json::object();
  const auto with_rank = std::ranges::find_if(tree.folders, [](const auto& folder) { return !folder.rank_path.empty(); });
  if (with_rank == tree.folders.end()) return "{}";
  const std::string folder = join_path(with_rank->rank_path, ".dump_metadata");
  for (const auto& [file, key] : {std::pair("config.json", "mindspore"), std::pair("data_dump.json", "config")}) {
    const auto text = read_file(join_path(folder, file), kLargestMetadata);
    if (!text.ok()) continue;
    if (auto json = parse_json(*text, file); json.ok()) manifest[key] = *std::move(json);
  }
  return to_json_text(manifest);
}

}  // namespace

Confidence recognise_mindspore_tree(const std::string& folder) {
  const mindspore_tree::TreePlace place = mindspore_tree::place_in_tree(folder);
  if (place.role == mindspore_tree::TreeRole::kNone) return Confidence::kNo;
  return place.certain ? Confidence::kCertain : Confidence::kMaybe;
}

Result<std::unique_ptr<DumpIndex>> open_mindspore(const std::string& folder) {
  mindspore_tree::TreeProblems problems;
  TENSORTAP_ASSIGN_OR_RETURN(mindspore_tree::Tree tree, mindspore_tree::walk_tree(folder, problems));
  mindspore_tree::TreeRows content = mindspore_tree::read_tree_rows(tree, problems);
  std::string manifest = read_metadata(tree);
  return std::unique_ptr<DumpIndex>(
      std::make_unique<MindSporeIndex>(std::move(tree), std::move(content), std::move(manifest), problems.take()));
}

}  // namespace tensortap
