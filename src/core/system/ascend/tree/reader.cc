#include "system/ascend/tree/reader.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "crash/crashed_dump.h"
#include "format/dump_data/dump_data_file.h"
#include "system/ascend/tree/grammar.h"
#include "system/ascend/tree/rows.h"
#include "tree/manifests.h"
#include "tree/tree_index.h"

namespace tensortap::ascend {
namespace {

constexpr std::string_view kCrashAdvice = "; `tensortap repair` of this folder makes files in extra-info/data-dump of them";

// The manifest of the dumps below one folder, with the notes of watched tensors of all of them.
std::string manifest_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return read_manifest(paths[0]);
  Json joined = join_manifests(paths);
  Json still_read = Json::array();
  for (const std::string& path : paths) {
    const Result<Json> manifest = parse_json(read_manifest(path), path);
    if (!manifest.ok() || !manifest->is_object() || !manifest->contains("watch") || !manifest->at("watch").is_object()) continue;
    const Json looks = manifest->at("watch").value("still_read", Json::array());
    if (looks.is_array()) still_read.insert(still_read.end(), looks.begin(), looks.end());
  }
  if (!still_read.empty()) joined["watch"]["still_read"] = std::move(still_read);
  return to_json_text(joined);
}

class Index : public TreeIndex {
 public:
  explicit Index(TreeContent content) : TreeIndex("ge", std::move(content)) {}

  std::string_view model() const override {
    const auto named = std::ranges::find_if(ops(), [](const OpInfo& op) { return !op.graph.empty(); });
    return named == ops().end() ? std::string_view() : named->graph;
  }

 protected:
  Result<RecordData> map(size_t row, const RecordRow& record) const override {
    if ((record.flags & kRecordDataLost) != 0)
      return not_found(concat(path_of(row), ": lists this tensor but does not contain its values"));
    if ((record.flags & kRecordHasData) == 0) return not_found("the record has statistics only; dump with dump_data tensor to keep values");
    TENSORTAP_ASSIGN_OR_RETURN(MappedFile map, MappedFile::open(path_to_open(row)));
    auto owner = std::make_shared<const MappedFile>(std::move(map));
    const auto bytes = owner->bytes();
    // The file may have changed since its head was read.
    const auto payload = part_of(bytes, record.data_offset, record.data_bytes);
    if (!payload) return corrupt(concat(path_of(row), ": cut short: the record's values are not all there"));
    if (record.desc().dtype != DType::kUInt1) return RecordData{{record.desc(), payload->data(), nullptr}, owner};
    auto reordered = std::make_shared<std::vector<std::byte>>(payload->begin(), payload->end());
    reorder_dump_data_bits(DType::kUInt1, *reordered);
    return RecordData{{record.desc(), reordered->data(), nullptr}, reordered};
  }
};

}  // namespace

Confidence recognise_tree(const std::string& folder) {
  const Confidence found = tensortap::recognise_tree(kGrammar, folder);
  return found == Confidence::kNo && CrashFile::is_left_in(folder, "ge") ? Confidence::kCertain : found;
}

Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder) {
  TreeProblems problems;
  TENSORTAP_ASSIGN_OR_RETURN(Tree tree, find_files(folder, problems));
  const std::vector<std::string> manifests = manifests_of(tree);
  const bool nothing = tree.files.empty() && manifests.empty() && !CrashFile::is_left_in(folder, "ge");
  if (nothing) return not_found(concat(folder, ": no file of a dump is here or below"));
  TreeRows rows = read_rows(tree, problems);
  std::string manifest = with_overflows(manifest_of(manifests), rows);
  TreeContent content{std::move(tree), std::move(rows), std::move(manifest), problems.take(), problems.damage()};
  return with_crashes(std::make_unique<Index>(std::move(content)), folder, kCrashAdvice);
}

}  // namespace tensortap::ascend
