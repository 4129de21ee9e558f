#include "system/ascend/tree/repair.h"

#include <fcntl.h>

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/process.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "system/ascend/statistics.h"
#include "system/ascend/tree/file_names.h"
#include "system/ascend/tree/grammar.h"
#include "system/ascend/tree/reader.h"
#include "tree/mapping.h"
#include "tree/named_folder.h"
#include "tree/spool.h"

namespace tensortap::ascend {
namespace {

constexpr int kDeepestMended = 8;
constexpr size_t kMostLostNames = 20;
constexpr uint64_t kLargestText = uint64_t{256} << 20;
constexpr uint64_t kEndless = uint64_t{1} << 62;  // bytes of a file of which only the beginning counts
constexpr size_t kLeastHead = 16;
constexpr std::string_view kAside = ".cut-";

std::vector<DumpDataTensor*> tensors_of(DumpDataFile& file) {
  std::vector<DumpDataTensor*> all;
  for (auto* kind : {&file.inputs, &file.outputs, &file.buffers, &file.workspaces}) {
    for (DumpDataTensor& tensor : *kind) all.push_back(&tensor);
  }
  return all;
}

std::string slot_of(const DumpDataFile& file, const DumpDataTensor* tensor) {
  const auto place_in = [tensor](const std::vector<DumpDataTensor>& kind) -> std::optional<size_t> {
    if (kind.empty() || tensor < kind.data() || tensor >= kind.data() + kind.size()) return std::nullopt;
    return static_cast<size_t>(tensor - kind.data());
  };
  if (const auto place = place_in(file.inputs)) return concat("in", *place);
  if (const auto place = place_in(file.outputs)) return concat("out", *place);
  return place_in(file.buffers) ? "a buffer" : "a workspace";
}

// The process that made a temporary file, when it still lives; 0 otherwise.
pid_t living_writer(std::string_view name) {
  name.remove_prefix(name.starts_with(kSpoolPrefix) ? kSpoolPrefix.size() : kTemporaryPrefix.size());
  uint64_t pid = 0;
  return parse_unsigned(name.substr(0, name.find('-')), pid) && process_exists(pid) ? static_cast<pid_t>(pid) : 0;
}

class Repair {
 public:
  // Both outlive it.
  Repair(const Tree& tree, const Folder& root, bool dry_run) : tree_(tree), root_(root), dry_run_(dry_run) {}

  Status mend() {
    TENSORTAP_RETURN_IF_ERROR(refuse_links());
    TENSORTAP_RETURN_IF_ERROR(remove_temporaries(root_, "", kDeepestMended));
    for (const TreeFolder& one : tree_.folders) TENSORTAP_RETURN_IF_ERROR(mend_mapping(one));
    for (const TreeFile& file : tree_.files) TENSORTAP_RETURN_IF_ERROR(mend_file(file));
    for (const Unexplained& one : unexplained_) TENSORTAP_RETURN_IF_ERROR(explain(one));
    return {};
  }

  // Counts the current contents by reading them; in a dry run `rescued` tensors are not in the files yet.
  RepairReport report(const DumpIndex* dump) {
    RepairReport report = std::move(report_);
    for (size_t row = 0; dump != nullptr && row < dump->rows().size(); ++row) {
      const uint8_t flags = dump->rows()[row].flags;
      ++report.records_kept;
      report.tensors_kept += (flags & kRecordHasData) != 0 && (flags & kRecordDataLost) == 0 ? 1 : 0;
    }
    if (dry_run_) {
      report.records_kept += rescued_records_;
      report.tensors_kept += rescued_;
    }
    report.healthy = report.actions.empty();
    return report;
  }

 private:
  // A file with a number for its name, and the facts that it contains about itself.
  struct Unexplained {
    const TreeFile* file;
    std::string op_name;
    uint64_t time_us;
  };

  const TreeFolder& folder_of(const TreeFile& file) const { return tree_.folders[file.folder]; }
  std::string path_of(const TreeFile& file) const { return join_path(folder_of(file).path, file.stored); }
  std::string shown(const TreeFile& file) const { return relative_to_tree(folder_of(file), file.stored); }

  void act(std::string sentence) { report_.actions.push_back(std::move(sentence)); }

  // Repairs nothing of a tree if a part of it is reached through a link, or has another name.
  Status refuse_links() const {
    for (const TreeFolder& folder : tree_.folders) TENSORTAP_RETURN_IF_ERROR(root_.below(folder.relative).status());
    for (const TreeFile& file : tree_.files) TENSORTAP_RETURN_IF_ERROR(open_part(folder_of(file), file.stored).status());
    return {};
  }

  Result<File> open_part(const TreeFolder& folder, std::string_view name) const {
    TENSORTAP_ASSIGN_OR_RETURN(const Folder held, root_.below(folder.relative));
    return held.open_file(name, O_RDONLY);
  }

  Status remove_temporaries(const Folder& folder, const std::string& relative, int depth) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::vector<std::string> names, list_directory(folder.path()));
    for (const std::string& name : names) {
      const std::string inside_relative = relative.empty() ? name : join_path(relative, name);
      if (is_own_directory(join_path(folder.path(), name))) {
        if (depth == 0) continue;
        TENSORTAP_ASSIGN_OR_RETURN(const Folder inside, folder.below(name));
        TENSORTAP_RETURN_IF_ERROR(remove_temporaries(inside, inside_relative, depth - 1));
      } else if (name.starts_with(kTemporaryPrefix)) {
        // If its process is alive, the file may be whole in a moment.
        if (living_writer(name) != 0) continue;
        act(concat(inside_relative, ": removed, the beginning of a file that its process did not live to finish"));
        if (!dry_run_) TENSORTAP_RETURN_IF_ERROR(folder.remove(name));
      }
    }
    return {};
  }

  void lose(const std::string& name, bool has_statistics) {
    ++(has_statistics ? report_.tensors_lost : report_.records_lost);
    if (report_.lost.size() < kMostLostNames) report_.lost.push_back(name);
  }

  bool has_table(const TreeFile& file) const {
    const std::string table = concat(file.name, kStatisticSuffix);
    return std::ranges::any_of(tree_.files, [&](const TreeFile& other) { return other.folder == file.folder && other.name == table; });
  }

  Status set_aside(const TreeFile& file, std::string_view why) {
    act(concat(shown(file), ": set aside as ", kAside, file.stored, ", ", why));
    if (dry_run_) return {};
    TENSORTAP_ASSIGN_OR_RETURN(const Folder folder, root_.below(folder_of(file).relative));
    const std::string aside = concat(kAside, file.stored);
    return folder.rename(std::string(file.stored), aside.size() <= NAME_MAX ? aside : concat(kAside, hashed_name(path_of(file))));
  }

  Status mend_file(const TreeFile& file) {
    TENSORTAP_ASSIGN_OR_RETURN(const File part, open_part(folder_of(file), file.stored));
    TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::map(part));
    const auto bytes = map.bytes();
    const auto name = parse_file_name(file.name);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // A file that has lost its name may be either.
    if (name ? name->statistic : text.starts_with(kTableBegin)) return mend_table(file, text);
    return mend_tensors(file, bytes);
  }

  Status mend_tensors(const TreeFile& file, std::span<const std::byte> bytes) {
    const Result<DumpDataFile> whole = parse_dump_data(bytes, bytes.size());
    if (whole.ok()) {
      learn_name(file, *whole);
      return {};
    }
    // Parsed as if it had no end; a beginning that is shorter than any head shows nothing.
    Result<DumpDataFile> cut = bytes.size() < kLeastHead ? corrupt("too short") : parse_dump_data(bytes, kEndless);
    const bool readable = cut.ok() && cut->framing == DumpDataFraming::kHeader;
    if (!readable) {
      lose(shown(file), has_table(file));
      return set_aside(file, "nothing of it can be read");
    }
    return keep_whole_tensors(file, *cut, bytes);
  }

  // A cut tensor becomes like a slot that was not kept, so that the numbers of the others stay.
  Status keep_whole_tensors(const TreeFile& file, DumpDataFile& content, std::span<const std::byte> bytes) {
    std::vector<std::span<const std::byte>> payloads;
    uint64_t kept = 0;
    const bool table = has_table(file);
    for (DumpDataTensor* tensor : tensors_of(content)) {
      if (tensor->size == 0 || tensor->absent) continue;
      if (const auto payload = part_of(bytes, tensor->payload_at, tensor->size)) {
        payloads.push_back(*payload);
        ++kept;
        continue;
      }
      lose(concat(shown(file), ": ", slot_of(content, tensor)), table);
      *tensor = {};
      tensor->dims = {0};
    }
    if (kept > 0) learn_name(file, content);
    if (kept == 0) return set_aside(file, "none of its tensors is whole");
    rescued_ += kept;
    if (!table) rescued_records_ += kept;
    act(concat(shown(file), ": cut short; the ", kept, kept == 1 ? " tensor that is whole stays" : " tensors that are whole stay"));
    return dry_run_ ? Status() : rewrite(file, content, payloads);
  }

  Status rewrite(const TreeFile& file, const DumpDataFile& content, const std::vector<std::span<const std::byte>>& payloads) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string head, make_dump_data_head(content));
    std::vector<FilePart> parts = {{std::as_bytes(std::span(head)), nullptr}};
    for (const auto& payload : payloads) parts.push_back({payload, nullptr});
    TENSORTAP_ASSIGN_OR_RETURN(const std::shared_ptr<NamedFolder> folder,
                               NamedFolder::create(root_, folder_of(file).relative, {.access = access_of(path_of(file))}));
    return folder->rewrite(std::string(file.stored), parts);
  }

  Status mend_table(const TreeFile& file, std::string_view text) {
    if (text.ends_with('\n')) return {};
    const size_t end = text.rfind('\n');
    if (end == std::string_view::npos) {
      lose(shown(file), false);
      return set_aside(file, "not even its title is whole");
    }
    act(concat(shown(file), ": its last line was cut and is dropped"));
    lose(concat(shown(file), ": ", text.substr(end + 1, 40)), false);
    return dry_run_ ? Status() : replace(folder_of(file), std::string(file.stored), text.substr(0, end + 1));
  }

  Status replace(const TreeFolder& folder, const std::string& name, std::string_view content) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::shared_ptr<NamedFolder> writer,
                               NamedFolder::create(root_, folder.relative, {.access = access_of(folder.path)}));
    return writer->replace(name, content);
  }

  // The text of mapping.csv; "" when the file is missing.
  Result<std::string> mapping_of(const TreeFolder& folder) const {
    const std::string path = join_path(folder.path, kMappingFile);
    if (!path_exists(path)) return std::string();
    TENSORTAP_RETURN_IF_ERROR(open_part(folder, kMappingFile).status());
    return read_file(path, kLargestText);
  }

  Status mend_mapping(const TreeFolder& folder) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, mapping_of(folder));
    if (text.empty() || text.ends_with('\n')) return {};
    const size_t end = text.rfind('\n');
    std::string kept = text.substr(0, end == std::string::npos ? 0 : end + 1);
    const std::vector<MappingLine> lines = mapping_lines(std::string_view(text).substr(kept.size()));
    const MappingLine cut = lines.empty() ? MappingLine() : lines[0];
    // The number is that of the whole path, if the tree was not moved.
    const bool whole = !cut.name.empty() && cut.stored == hashed_name(join_path(folder.path, cut.name));
    if (whole) kept += concat(cut.line, "\n");
    act(concat(relative_to_tree(folder, kMappingFile), whole ? ": its last line got its end" : ": its last line was cut and is dropped"));
    if (!whole && !cut.stored.empty()) cut_lines_.push_back(join_path(folder.path, cut.stored));
    return dry_run_ ? Status() : replace(folder, std::string(kMappingFile), kept);
  }

  // Notes the name of this op's files up to the time, and the files without a known name.
  void learn_name(const TreeFile& file, const DumpDataFile& content) {
    const auto name = parse_file_name(file.name);
    const bool cut = std::ranges::find(cut_lines_, path_of(file)) != cut_lines_.end();
    if (!name || cut) {
      if (is_hashed_name(file.stored)) unexplained_.push_back({&file, content.op_name, content.time_us});
      return;
    }
    if (!content.op_name.empty() && !name->exception) {
      names_.try_emplace({folder_of(file).model, content.op_name}, std::string(file.name.substr(0, file.name.rfind('.'))));
    }
  }

  Status explain(const Unexplained& one) {
    const TreeFile& file = *one.file;
    const auto found = names_.find({folder_of(file).model, one.op_name});
    if (found == names_.end() || found->second.find_first_of("\r\n") != std::string::npos) return {};
    const std::string name = concat(found->second, ".", one.time_us);
    act(concat(shown(file), ": mapping.csv says again that it is ", name));
    if (dry_run_) return {};
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, mapping_of(folder_of(file)));
    return replace(folder_of(file), std::string(kMappingFile), concat(text, file.stored, ",", name, "\n"));
  }

  const Tree& tree_;
  const Folder& root_;
  const bool dry_run_;
  RepairReport report_;
  uint64_t rescued_ = 0;
  uint64_t rescued_records_ = 0;
  std::vector<std::string> cut_lines_;  // paths of files whose line of mapping.csv was cut
  std::vector<Unexplained> unexplained_;
  std::map<std::pair<std::string, std::string>, std::string> names_;  // by model and op
};

}  // namespace

Result<RepairReport> repair_tree(const std::string& folder, bool dry_run) {
  TreeProblems problems;
  TENSORTAP_ASSIGN_OR_RETURN(const Tree tree, find_files(folder, problems));
  TENSORTAP_ASSIGN_OR_RETURN(const Folder root, Folder::open(folder));
  Repair repair(tree, root, dry_run);
  TENSORTAP_RETURN_IF_ERROR(repair.mend());
  const auto dump = open_tree(folder);
  return repair.report(dump.ok() ? dump->get() : nullptr);
}

}  // namespace tensortap::ascend
