#include "system/msit/tree/reader.h"

#include <set>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "crash/crashed_dump.h"
#include "format/msit_bin/msit_bin_file.h"
#include "system/msit/tree/grammar.h"
#include "system/msit/tree/rows.h"
#include "system/msit/tree/tree_names.h"
#include "tree/manifests.h"
#include "tree/tree_index.h"

namespace tensortap::msit {
namespace {

constexpr const char* kTimestamp = "timestamp";

class Index : public TreeIndex {
 public:
  explicit Index(TreeContent content) : TreeIndex("msit", std::move(content)) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& record) const override {
    if ((record.flags & kRecordDataLost) != 0) return corrupt(concat(path_of(row), ": cut short: the record's values are not all there"));
    if (!has_file(row)) return not_found(concat(path_of(row), ": the table has the tensor's statistics, no values"));
    if ((record.flags & kRecordHasData) == 0) return not_found(concat(path_of(row), ": the file describes its tensor and holds no values"));
    TENSORTAP_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path_to_open(row)));
    auto mapped = std::make_shared<const MappedFile>(std::move(file));
    const Result<MsitBinFile> head = parse_msit_bin(mapped->bytes(), mapped->bytes().size());
    if (!head.ok()) return head.status().with_context(path_of(row));
    const auto elements = part_of(mapped->bytes(), head->data_begin, head->data_bytes);
    if (!elements || head->bytes_there != head->data_bytes || head->desc.dtype != record.desc().dtype ||
        !(head->desc.shape == record.desc().shape)) {
      return corrupt(concat(path_of(row), ": changed since the dump was opened"));
    }
    return RecordData{{head->desc, elements->data(), nullptr}, std::move(mapped)};
  }
};

// That of the dumps, with its time where a tree without our manifest tells it.
std::string manifest_of(const Tree& tree) {
  Json manifest = join_manifests(manifests_of(tree));
  std::set<std::string_view> dumps;
  for (const TreeFolder& folder : tree.folders) dumps.insert(folder.dump);
  const std::string time = dumps.size() == 1 ? time_of_dump(*dumps.begin()) : "";
  if (!time.empty() && !manifest.contains(kTimestamp)) manifest[kTimestamp] = time;
  return to_json_text(manifest);
}

}  // namespace

Confidence recognise_tree(const std::string& folder) {
  const Confidence found = tensortap::recognise_tree(kGrammar, folder);
  return found == Confidence::kNo && CrashFile::is_left_in(folder, "msit") ? Confidence::kCertain : found;
}

Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder) {
  TreeProblems problems;
  Result<Tree> tree = walk_tree(kGrammar, folder, problems);
  if (!tree.ok() && tree.status().code() == StatusCode::kNotFound && CrashFile::is_left_in(folder, "msit")) tree = Tree();
  if (!tree.ok()) return tree.status();
  TreeRows rows = read_rows(*tree, problems);
  std::string manifest = manifest_of(*tree);
  TreeContent content{*std::move(tree), std::move(rows), std::move(manifest), problems.take(), problems.damage()};
  return with_crashes(std::make_unique<Index>(std::move(content)), folder);
}

}  // namespace tensortap::msit
