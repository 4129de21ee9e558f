#include "system/tap/repair.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/counted.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/process_role.h"
#include "base/running_captures.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "format/npy/npy_header.h"
#include "format/npz/zip_archive.h"
#include "system/tap/mended_files.h"
#include "system/tap/ops_file.h"
#include "system/tap/records_file.h"
#include "system/tap/ring_memory.h"
#include "system/tap/tap_files.h"
#include "system/tap/tap_members.h"
#include "system/tap/tap_rows.h"
#include "system/tap/written_files.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

constexpr size_t kMostNames = 10;
constexpr int kLockTries = 25;
constexpr std::array kMendedFiles = {kRecordsFile, kOpsFile, kTensorsFile, kHistogramsFile, kSketchesFile, kChannelsFile};

// A file of equal rows behind a header that counts them.
struct Table {
  std::string_view name;
  uint64_t begin;
  uint64_t row_bytes;
  std::string (*header)(uint64_t rows);
};

class Repair {
 public:
  Repair(Folder folder, bool dry_run) : folder_(std::move(folder)), dry_run_(dry_run) {}

  Result<RepairReport> run() {
    // The state that readers report before the repair.
    if (const auto dump = open_dump_folder(folder_.path()); dump.ok()) before_ = (*dump)->completeness();
    TENSORTAP_RETURN_IF_ERROR(lock());
    TENSORTAP_RETURN_IF_ERROR(look());
    TENSORTAP_RETURN_IF_ERROR(mend_ops());
    // Rows first: what is cut from their file makes room on a full disk.
    TENSORTAP_RETURN_IF_ERROR(mend_rows());
    TENSORTAP_RETURN_IF_ERROR(mend_tensors());
    TENSORTAP_RETURN_IF_ERROR(mend_table({kHistogramsFile, kHistogramsBegin, sizeof(ExponentHistogram), make_histograms_header}));
    TENSORTAP_RETURN_IF_ERROR(mend_table({kSketchesFile, kSketchesBegin, sizeof(SketchRow), make_sketches_header}));
    TENSORTAP_RETURN_IF_ERROR(mend_table({kChannelsFile, kSketchesBegin, sizeof(ChannelSums), make_channels_header}));
    TENSORTAP_RETURN_IF_ERROR(mend_manifest());
    if (!dry_run_ && lock_.is_open()) remove_ring(lock_);
    if (before_.state == DumpState::kIncomplete) report_.missing = before_.reasons;
    report_.healthy = report_.actions.empty() && report_.lost.empty();
    return report_;
  }

 private:
  Status lock();
  Status open_records();
  Status look();
  void tell_of_lost_names();
  void tell_of_values();
  Status check_tensors();
  Status mend_ops();
  Status mend_tensors();
  Status mend_rows();
  [[nodiscard]] Status rewrite_rows() const;
  Status mend_table(const Table& table);
  Status mend_manifest();
  [[nodiscard]] Json short_manifest() const;
  Status add_gaps(Json& manifest) const;
  [[nodiscard]] Result<uint64_t> rows_of(std::string_view name, const MappedFile& map) const;
  // A file of the dump as it is now; empty when it does not exist.
  [[nodiscard]] Result<MappedFile> map_if_there(std::string_view name) const {
    if (!folder_.contains(name)) return MappedFile();
    TENSORTAP_ASSIGN_OR_RETURN(const File file, folder_.open_file(name, O_RDONLY));
    return MappedFile::map(file);
  }
  [[nodiscard]] bool act(std::string action) {
    report_.actions.push_back(std::move(action));
    return !dry_run_;
  }

  const Folder folder_;
  const bool dry_run_;
  Completeness before_;
  RepairReport report_;
  File lock_;
  LeftRing left_;
  bool has_manifest_ = false;  // one that can be read
  MappedFile records_;
  TapRows rows_;
  std::vector<OpInfo> ops_;
  std::vector<bool> lost_data_;  // by row
};

// A writer holds a lock on records.npy for as long as it lives.
Status Repair::lock() {
  // Repair nothing if one part of the dump cannot be repaired.
  for (const std::string_view name : {kOpsFile, kTensorsFile, kHistogramsFile, kSketchesFile, kChannelsFile, kRunFile}) {
    if (folder_.contains(name)) TENSORTAP_RETURN_IF_ERROR(folder_.open_file(name, O_RDONLY).status());
  }
  if (!folder_.contains(kRecordsFile)) return {};
  TENSORTAP_ASSIGN_OR_RETURN(lock_, folder_.open_file(kRecordsFile, O_RDONLY));
  // A capture that starts holds it for a moment, while it settles what dead programs left (ring_memory.h).
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (flock(lock_.fd(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return invalid_argument("the dump is still being written by a running program; nothing was touched");
}

// With the rows that the program left in its ring; without `dry_run` they go into the file.
Status Repair::open_records() {
  if (!lock_.is_open()) return {};
  left_ = read_left_ring(lock_);
  TENSORTAP_ASSIGN_OR_RETURN(records_, MappedFile::open_with_room(lock_, kRingRows * sizeof(RecordRow)));
  const uint64_t added = add_left_rows(records_.own_bytes(), left_);
  const bool changes = added > 0 || !left_.rows.empty();
  if (added > 0 && !act(concat("records.npy: ", added, added == 1 ? " row that waited" : " rows that waited", " in memory added")))
    return {};
  if (changes && !dry_run_) {
    TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(kRecordsFile, O_RDWR));
    TENSORTAP_RETURN_IF_ERROR(add_left_rows(file, left_.rows).status());
  }
  TENSORTAP_ASSIGN_OR_RETURN(records_, map_if_there(kRecordsFile));
  return {};
}

Status Repair::look() {
  TENSORTAP_RETURN_IF_ERROR(open_records());
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile ops, map_if_there(kOpsFile));
  std::vector<std::string> ignored;
  ops_ = parse_ops(ops.text(), ignored);
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile manifest, map_if_there(kRunFile));
  has_manifest_ = folder_.contains(kRunFile) && Json::accept(manifest.text());
  TENSORTAP_ASSIGN_OR_RETURN(rows_, read_rows(records_.bytes(), folder_.contains(kRunFile)));
  report_.records_kept = rows_.rows.size();
  // If the program died, its ring counts the rows that it wrote; if it ended, the header counts them.
  const uint64_t missing = left_.handed_over - std::min<uint64_t>(left_.handed_over, rows_.rows.size());
  report_.records_lost = std::max(rows_.gaps + rows_.cut, missing);
  report_.counted_losses = left_.lost;
  tell_of_lost_names();
  return check_tensors();
}

// Nothing brings them back.
void Repair::tell_of_lost_names() {
  const auto unnamed =
      std::ranges::count_if(rows_.rows, [&](const RecordRow& row) { return row.op >= ops_.size() || ops_[row.op].name.empty(); });
  if (unnamed == 0) return;
  const char* where = folder_.contains(kOpsFile) ? ": lacks" : " is missing, and with it";
  report_.lost.push_back(concat(kOpsFile, where, " the names of the ops of ", unnamed, unnamed == 1 ? " record" : " records"));
}

// Which rows have their data. CRCs are compared: a member may be as long as it says and still be damaged.
Status Repair::check_tensors() {
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile tensors, map_if_there(kTensorsFile));
  lost_data_.assign(rows_.rows.size(), false);
  std::unordered_map<uint64_t, bool> members;  // by offset: whole or not
  for (size_t i = 0; i < rows_.rows.size(); ++i) {
    const RecordRow row = rows_.rows[i];
    if (!has_manifest_ && waits_for_values(row)) ++report_.tensors_on_the_way;
    if ((row.flags & kRecordHasData) == 0) continue;
    const Result<ZipEntry> entry = find_member(tensors.bytes(), row);
    const auto whole = [&] {
      std::shared_ptr<const void> owner;
      return read_member(tensors.bytes(), *entry, owner).ok();
    };
    if (entry.ok()) {
      // Records may share a member.
      const auto [known, is_new] = members.try_emplace(entry->header_offset, false);
      if (is_new) known->second = whole();
      if (known->second) {
        ++report_.tensors_kept;
        continue;
      }
    }
    lost_data_[i] = true;
    ++report_.tensors_lost;
    const std::string op = row.op < ops_.size() ? ops_[row.op].name : "";
    if (report_.lost.size() < kMostNames) report_.lost.push_back(record_name(row, op));
  }
  tell_of_values();
  return {};
}

// Their rows say that they are lost: nothing is to be changed in them.
void Repair::tell_of_values() {
  report_.tensors_lost += report_.tensors_on_the_way;
  if (report_.tensors_on_the_way > 0) {
    report_.lost.push_back(concat("the values of ", counted(report_.tensors_on_the_way, "record"),
                                  ": the program died before they were written; the statistics are kept"));
  }
  if (report_.counted_losses > 0) {
    report_.lost.push_back(concat("the program itself had counted ", report_.counted_losses,
                                  report_.counted_losses == 1 ? " loss" : " losses", " before it died"));
  }
}

// Lines that cannot be read are left out; the ids of the others stay.
Status Repair::mend_ops() {
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile ops, map_if_there(kOpsFile));
  std::string kept;
  uint64_t damaged = 0;
  for (std::string_view text = ops.text(); !text.empty();) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    OpId id = 0;
    OpInfo op;
    if (parse_op_line(line, id, op).ok()) {
      kept += line;
      kept += '\n';
    } else {
      ++damaged;
    }
  }
  if (kept == ops.text()) return {};
  if (!act(concat("ops.jsonl: ", damaged, damaged == 1 ? " damaged line" : " damaged lines", " taken out"))) return {};
  return folder_.replace_file(kOpsFile, kept);
}

Status Repair::mend_tensors() {
  if (!folder_.contains(kTensorsFile)) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, map_if_there(kTensorsFile));
  if (read_zip_directory(map.bytes()).ok() && report_.tensors_lost == report_.tensors_on_the_way) return {};
  const std::vector<ZipEntry> members = find_whole_members(map.bytes(), rows_.rows, lost_data_);
  ZipDirectory directory;
  uint64_t end = 0;
  for (const ZipEntry& entry : members) {
    ZipMember member;
    member.name = entry.name;
    member.offset = entry.header_offset;
    member.size = entry.size;
    member.crc = entry.crc;
    directory.add(member);
    end = entry.data_offset + entry.size;
  }
  const std::string tail = directory.finish(end);
  const auto present = map.text().substr(std::min<uint64_t>(end, map.text().size()));
  if (present == tail) return {};
  if (!act(concat("tensors.npz: the directory is written anew for ", members.size(), " whole tensors"))) return {};
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(kTensorsFile, O_WRONLY));
  TENSORTAP_RETURN_IF_ERROR(file.truncate(end));
  Status status = file.write_at(end, std::as_bytes(std::span(tail)));
  // Half a directory is useless, and bytes behind the last member hide the length of that member.
  if (!status.ok()) (void)file.truncate(end);
  return status;
}

Status Repair::mend_rows() {
  const bool changed = std::ranges::find(lost_data_, true) != lost_data_.end();
  if (rows_.exact && !changed) return {};
  if (!rows_.unknown_columns.empty()) {
    return unsupported(concat("records.npy: has columns that this version of tensortap does not know (", join(rows_.unknown_columns, ", "),
                              "); repair it with the version that wrote it"));
  }
  if (changed) {
    const uint64_t without = report_.tensors_lost - report_.tensors_on_the_way;
    const char* keep =
        without == 1 ? " record keeps its statistics without its values" : " records keep their statistics without their values";
    if (act(concat("records.npy: ", without, keep))) return rewrite_rows();
    return {};
  }
  if (!act(concat("records.npy: cut to its ", rows_.rows.size(), " complete rows"))) return {};
  const bool in_place =
      rows_.copied.empty() && records_.bytes().size() >= kRowsBegin &&
      (rows_.rows.empty() || reinterpret_cast<const std::byte*>(rows_.rows.data()) == records_.bytes().data() + kRowsBegin);
  if (!in_place) return rewrite_rows();
  const std::string header = make_records_header(rows_.rows.size());
  const uint64_t size = kRowsBegin + rows_.rows.size_bytes();
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(kRecordsFile, O_WRONLY));
  TENSORTAP_RETURN_IF_ERROR(file.write_at(0, std::as_bytes(std::span(header))));
  return file.truncate(size);
}

Status Repair::rewrite_rows() const { return replace_rows(folder_, rows_.rows, lost_data_); }

Status Repair::mend_table(const Table& table) {
  if (!folder_.contains(table.name)) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, map_if_there(table.name));
  const uint64_t size = map.bytes().size();
  const uint64_t rows = size < table.begin ? 0 : (size - table.begin) / table.row_bytes;
  const std::string header = table.header(rows);
  const uint64_t whole = table.begin + rows * table.row_bytes;
  if (size == whole && map.text().starts_with(header)) return {};
  if (!act(concat(table.name, ": cut to its ", rows, " complete rows"))) return {};
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(table.name, O_WRONLY));
  TENSORTAP_RETURN_IF_ERROR(file.write_at(0, std::as_bytes(std::span(header))));
  return file.truncate(whole);
}

// For a program that died before its end.
Json Repair::short_manifest() const {
  Json manifest;
  manifest["complete"] = false;
  for (const std::string& name : CrashFile::names_in(folder_.path())) {
    const Result<std::unique_ptr<CrashFile>> crash = CrashFile::read(join_path(folder_.path(), name));
    if (crash.ok() && !manifest.contains("crash")) manifest["crash"] = (*crash)->to_json();
  }
  manifest["records"] = report_.records_kept;
  if (const auto session = map_if_there(kSessionFile); session.ok()) manifest["process"] = process_of_session(session->text());
  return manifest;
}

// Lines, members or rows of a file as it is now.
Result<uint64_t> Repair::rows_of(std::string_view name, const MappedFile& map) const {
  if (name == kRecordsFile) return rows_.rows.size();
  if (name == kOpsFile) return static_cast<uint64_t>(std::ranges::count(map.text(), '\n'));
  if (name != kTensorsFile) return uint64_t{0};
  TENSORTAP_ASSIGN_OR_RETURN(const auto members, read_zip_directory(map.bytes()));
  return members.size();
}

// Adds the reasons why the dump is incomplete for good, and the state of its files after the repair.
Status Repair::add_gaps(Json& manifest) const {
  manifest["repaired"] = true;
  manifest["records_lost"] = report_.records_lost;
  manifest["tensors"] = report_.tensors_kept;
  manifest["tensors_lost"] = report_.tensors_lost;
  if (!manifest.contains(kWrittenMember)) manifest[kWrittenMember] = counts_json(before_.written);
  Completeness after = before_;
  if (report_.records_lost > 0) after.lack(concat("repair found ", counted(report_.records_lost, "record"), " lost"));
  if (report_.tensors_lost > 0) after.lack(concat("repair found the values of ", counted(report_.tensors_lost, "record"), " lost"));
  manifest["tensors_on_the_way"] = report_.tensors_on_the_way;
  manifest["counted_losses"] = report_.counted_losses;
  manifest[kIncompleteMember] = after.reasons;
  std::vector<File> open;
  std::vector<WrittenFile> files;
  open.reserve(kMendedFiles.size());
  for (const std::string_view name : kMendedFiles) {
    if (!folder_.contains(name)) continue;
    TENSORTAP_ASSIGN_OR_RETURN(open.emplace_back(), folder_.open_file(name, O_RDONLY));
    TENSORTAP_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::map(open.back()));
    TENSORTAP_ASSIGN_OR_RETURN(const uint64_t rows, rows_of(name, map));
    files.push_back({std::string(name), &open.back(), map.bytes().size(), rows});
  }
  // The entries of documents stay as they are: repair does not change documents.
  Json told = manifest.value(kFilesMember, Json::object());
  if (!told.is_object()) told = Json::object();
  for (const std::string_view name : kMendedFiles) told.erase(std::string(name));
  told.update(files_json(files));
  manifest[kFilesMember] = std::move(told);
  return {};
}

// Last: a dump with a manifest is taken as finished. After a repair the manifest keeps the reasons for ever.
Status Repair::mend_manifest() {
  const bool is_there = folder_.contains(kRunFile);
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile text, map_if_there(kRunFile));
  const Result<Json> told = parse_json(text.text(), kRunFile);
  const bool is_whole = is_there && told.ok() && told->is_object();
  if (is_whole && report_.actions.empty()) {
    // A repair cannot bring back a file that is missing or was replaced.
    Completeness files;
    check_written_files(folder_.path(), *told, files);
    if (report_.lost.empty()) report_.lost = files.reasons;
    return {};
  }
  const char* what = is_whole   ? "run.json: lists from now on what is missing"
                     : is_there ? "run.json: damaged, replaced"
                                : "run.json: was never written; a short one takes its place";
  if (!act(what)) return {};
  Json manifest = is_whole ? *told : short_manifest();
  TENSORTAP_RETURN_IF_ERROR(add_gaps(manifest));
  return folder_.replace_file(kRunFile, to_json_text(manifest) + "\n", access_of(join_path(folder_.path(), kRecordsFile)));
}

}  // namespace

Result<RepairReport> repair_dump(const std::string& folder, bool dry_run) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder held, Folder::open(folder));
  Result<RepairReport> report = Repair(std::move(held), dry_run).run();
  if (report.ok()) return report;
  const Status status = report.status().with_context(concat("repairing ", folder));
  if (status.code() != StatusCode::kExhausted) return status;
  return exhausted(concat(status.message(), ". Nothing was lost: make room on the disk and run `tensortap repair` again"))
      .with_system_error(status.system_error());
}

}  // namespace tensortap::tap
