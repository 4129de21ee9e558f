#include "system/mindspore/tree/reader.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "crash/crashed_dump.h"
#include "system/mindspore/statistics.h"
#include "system/mindspore/tree/grammar.h"
#include "system/mindspore/tree/rows.h"
#include "tree/manifests.h"
#include "tree/npy_mapped.h"
#include "tree/tree_index.h"

namespace tensortap::mindspore {
namespace {

constexpr uint64_t kLargestMetadata = uint64_t{16} << 20;
constexpr uint64_t kSampleDefault = 100;  // MindSpore's "sample_num"
constexpr std::string_view kTreeAdvice = "; `tensortap repair` of this folder makes files of the tree of them";

class Index : public TreeIndex {
 public:
  explicit Index(TreeContent content) : TreeIndex("mindspore", std::move(content)) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& record) const override {
    if ((record.flags & kRecordDataLost) != 0) {
      return has_file(row) ? corrupt(concat(path_of(row), ": cut short: the record's values are not all there"))
                           : not_found("the record's file is damaged; it has its statistics");
    }
    if ((record.flags & kRecordHasData) == 0) return not_found("the record has statistics only; dump with saved_data full to keep values");
    return map_npy(path_to_open(row), record.desc());
  }
};

// Adds what our own report of a rank says of values that are not in the tree, and of a crash.
void add_report(const std::string& path, Json& manifest) {
  const auto text = read_file(path, kLargestMetadata);
  const auto report = text.ok() ? parse_json(*text, path) : Result<Json>(text.status());
  if (!report.ok() || !report->is_object()) return;
  add_gaps(*report, manifest);
  if (!report->contains("crash") || manifest.contains("crash")) return;
  for (const char* key : {"crash", "complete", "failed_op", "failed_ops"}) {
    if (report->contains(key)) manifest[key] = (*report)[key];
  }
}

// The configuration and the version from .dump_metadata of the first rank, and what the reports of all ranks say.
std::string read_metadata(const Tree& tree) {
  Json manifest = Json::object();
  const auto with_rank = std::ranges::find_if(tree.folders, [](const auto& folder) { return !folder.dump.empty(); });
  if (with_rank == tree.folders.end()) {
    const std::vector<std::string> manifests = manifests_of(tree);
    return manifests.size() == 1 ? read_manifest(manifests[0]) : to_json_text(join_manifests(manifests));
  }
  const std::string folder = join_path(with_rank->dump, ".dump_metadata");
  std::set<std::string> ranks;
  for (const auto& one : tree.folders) {
    if (one.dump.empty() || !ranks.insert(one.dump).second) continue;
    add_report(join_path(one.dump, ".dump_metadata/tensortap_run.json"), manifest);
  }
  for (const auto& [file, key] : {std::pair("config.json", "mindspore"), std::pair("data_dump.json", "config")}) {
    const auto text = read_file(join_path(folder, file), kLargestMetadata);
    if (!text.ok()) continue;
    if (auto json = parse_json(*text, file); json.ok()) manifest[key] = *std::move(json);
  }
  return to_json_text(manifest);
}

// Marks tensors as parts if the config says that they were cut to their first elements.
void mark_samples(std::string_view manifest, std::vector<RecordRow>& rows) {
  const auto json = parse_json(manifest, "the metadata");
  const Json* config = json.ok() ? member(*json, "config") : nullptr;
  const Json* common = config == nullptr ? nullptr : member(*config, "common_dump_settings");
  const Json* e2e = config == nullptr ? nullptr : member(*config, "e2e_dump_settings");
  if (common == nullptr || e2e == nullptr || count_in(*e2e, "sample_mode") != 1 || count_in(*common, "op_debug_mode") != 0) return;
  const uint64_t kept = member(*e2e, "sample_num") == nullptr ? kSampleDefault : count_in(*e2e, "sample_num");
  for (RecordRow& row : rows) {
    if (row.dims_count == 1 && row.numel == kept) row.stats.valid |= kStatSampled;
  }
}

}  // namespace

Confidence recognise_tree(const std::string& folder) {
  const Confidence found = tensortap::recognise_tree(kGrammar, folder);
  return found != Confidence::kCertain && CrashFile::is_left_in(folder, "mindspore") ? Confidence::kCertain : found;
}

Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder) {
  TreeProblems problems;
  Result<Tree> walked = walk_tree(kGrammar, folder, problems);
  // A crash in the first op leaves nothing else.
  const bool nothing_else = walked.status().code() == StatusCode::kNotFound && CrashFile::is_left_in(folder, "mindspore");
  if (!walked.ok() && !nothing_else) return walked.status();
  Tree tree = walked.ok() ? *std::move(walked) : Tree();
  TreeRows rows = read_rows(tree, problems);
  std::string manifest = read_metadata(tree);
  mark_samples(manifest, rows.rows);
  manifest = with_overflows(std::move(manifest), rows);
  TreeContent content{std::move(tree), std::move(rows), std::move(manifest), problems.take(), problems.damage()};
  return with_crashes(std::make_unique<Index>(std::move(content)), folder, kTreeAdvice);
}

}  // namespace tensortap::mindspore
