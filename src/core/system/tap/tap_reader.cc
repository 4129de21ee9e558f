#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/counted.h"
#include "base/files.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "crash/crashed_dump.h"
#include "system/tap/ops_file.h"
#include "system/tap/ring_memory.h"
#include "system/tap/sketches_file.h"
#include "system/tap/tap_files.h"
#include "system/tap/tap_members.h"
#include "system/tap/tap_rows.h"
#include "system/tap/written_files.h"

namespace tensortap::tap {
namespace {

constexpr uint64_t kLargestManifest = uint64_t{256} << 20;
constexpr uint64_t kLargestDocument = uint64_t{1} << 30;

// A file that is mapped when it is first asked for.
class LazyMap {
 public:
  explicit LazyMap(std::string path) : path_(std::move(path)) {}
  Result<std::span<const std::byte>> bytes() const {
    std::call_once(once_, [this] {
      Result<MappedFile> map = MappedFile::open(path_);
      if (map.ok()) {
        map_ = *std::move(map);
      } else {
        status_ = map.status();
      }
    });
    if (!status_.ok()) return status_;
    TENSORTAP_RETURN_IF_ERROR(map_.check_still_whole());
    return map_.bytes();
  }

 private:
  std::string path_;
  mutable std::once_flag once_;
  mutable MappedFile map_;
  mutable Status status_;
};

class Index : public DumpIndex {
 public:
  explicit Index(const std::string& folder)
      : folder_(folder),
        tensors_(join_path(folder, kTensorsFile)),
        histograms_(join_path(folder, kHistogramsFile)),
        sketches_(join_path(folder, kSketchesFile)),
        channels_(join_path(folder, kChannelsFile)),
        attributes_(join_path(folder, kAttributesFile)) {}

  Status open(const std::string& folder);

  std::string_view layout() const override { return "tap"; }
  std::span<const RecordRow> rows() const override { return rows_.rows; }
  [[nodiscard]] std::vector<std::string> unknown_columns() const override { return rows_.unknown_columns; }
  std::span<const OpInfo> ops() const override { return ops_; }
  Result<RecordData> data(size_t row) const override;
  std::string file(size_t row) const override;
  std::string manifest() const override { return manifest_; }
  std::span<const std::string> problems() const override { return problems_; }
  Completeness completeness() const override { return completeness_; }
  std::string_view attribute_bytes() const override;
  Result<std::string> document(std::string_view name) const override { return read_file(join_path(folder_, name), kLargestDocument); }
  std::vector<uint64_t> histogram(size_t row) const override;
  Result<TensorSketch> sketch(size_t row) const override;

 private:
  void judge(const std::string& folder);
  void judge_files(const std::string& folder);
  void judge_counts(const std::string& folder, const Json& manifest);
  void read_manifest(const std::string& folder);
  void read_ops(const std::string& folder);
  Status read_records(const std::string& folder);
  Status check_crc(std::span<const std::byte> bytes, const ZipEntry& entry, size_t row) const;

  const std::string folder_;
  MappedFile records_;
  TapRows rows_;
  std::vector<OpInfo> ops_;
  std::string manifest_ = "{}";
  bool finished_ = false;
  bool is_running_ = false;
  std::vector<std::string> problems_;
  Completeness completeness_;
  LazyMap tensors_;
  LazyMap histograms_;
  LazyMap sketches_;
  LazyMap channels_;
  LazyMap attributes_;
  mutable std::once_flag sketches_once_;
  mutable SketchIndex sketch_index_;
  mutable std::once_flag checked_once_;
  mutable std::unique_ptr<std::atomic<bool>[]> checked_;  // by row: the CRC was right
};

// A writer holds a lock on records.npy for as long as it lives.
bool is_being_written(const std::string& folder) {
  const Result<File> file = File::open(join_path(folder, kRecordsFile), O_RDONLY);
  return file.ok() && ::flock(file->fd(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Status Index::open(const std::string& folder) {
  if (recognise_dump(folder) == Confidence::kNo) {
    return not_found(concat(folder, ": no dump of tensortap: neither ", kRecordsFile, " nor ", kOpsFile, " is there"));
  }
  read_manifest(folder);
  read_ops(folder);
  TENSORTAP_RETURN_IF_ERROR(read_records(folder));
  judge(folder);
  return {};
}

void Index::judge(const std::string& folder) {
  completeness_.found.records = rows_.rows.size();
  completeness_.found.ops = static_cast<uint64_t>(std::ranges::count_if(ops_, [](const OpInfo& op) { return !op.name.empty(); }));
  if (is_running_) {
    completeness_.state = DumpState::kRunning;
  } else {
    judge_files(folder);
  }
  if (completeness_.holds_all()) {
    completeness_.found.steps = completeness_.written.steps;
  } else {
    completeness_.count_steps(rows_.rows);
  }
}

// For dumps of older versions, whose manifest does not describe each file.
void Index::judge_counts(const std::string& folder, const Json& manifest) {
  const bool has_tensors = count_in(manifest, "bytes") == 0 || path_exists(join_path(folder, kTensorsFile));
  if (!has_tensors) completeness_.lack(concat(kTensorsFile, " is missing"));
  if (!completeness_.written.records) completeness_.lack(concat(kRunFile, " does not say how many records were written"));
  const uint64_t written = completeness_.written.records.value_or(0);
  if (const uint64_t found = rows_.rows.size(); found < written) {
    completeness_.lack(concat(kRecordsFile, " has ", grouped(found), " of ", grouped(written), " records"));
  }
}

// Records that could not be read are missing too, whatever the manifest says.
void Index::judge_files(const std::string& folder) {
  completeness_.state = DumpState::kComplete;
  const Result<Json> manifest = parse_json(manifest_, kRunFile);
  if (manifest.ok()) {
    add_manifest(*manifest, completeness_);
    check_written_files(folder, *manifest, completeness_);
    if (!manifest->contains(kFilesMember)) judge_counts(folder, *manifest);
  }
  for (const std::string& problem : problems_) completeness_.lack(problem);
}

void Index::read_manifest(const std::string& folder) {
  const std::string path = join_path(folder, kRunFile);
  Result<std::string> text = read_file(path, kLargestManifest);
  if (!text.ok()) {
    is_running_ = is_being_written(folder);
    // The writer may have finished meanwhile.
    if (!is_running_ && path_exists(path)) text = read_file(path, kLargestManifest);
  }
  if (!text.ok()) {
    const bool is_missing = text.status().code() == StatusCode::kNotFound;
    problems_.emplace_back(!is_missing   ? text.status().message()
                           : is_running_ ? "run.json is missing: a program still writes the dump"
                                         : "run.json is missing: the program died before its capture ended, or the file was removed");
    return;
  }
  finished_ = true;
  if (Json::accept(*text)) {
    manifest_ = *std::move(text);
  } else {
    problems_.emplace_back("run.json is damaged; its contents are unknown");
  }
}

void Index::read_ops(const std::string& folder) {
  const Result<MappedFile> file = MappedFile::open_settled(join_path(folder, kOpsFile));
  if (!file.ok()) {
    problems_.push_back(concat("the ops are not known: ", file.status().message()));
    return;
  }
  ops_ = parse_ops(file->text(), problems_);
}

// A program without shared memory writes its rows into the file alone. Those that were complete once are whole when they are read again.
Result<MappedFile> open_without_ring(const File& file, const std::string& path, bool is_running) {
  TENSORTAP_ASSIGN_OR_RETURN(MappedFile before, MappedFile::open_settled(path));
  if (!is_running || before.bytes().empty() || before.bytes().size() > MappedFile::kMostCopied) return before;
  TENSORTAP_ASSIGN_OR_RETURN(MappedFile now, MappedFile::open_with_room(file, 0));
  keep_complete(before.bytes(), now.own_bytes());
  return now;
}

// The rows of a ring are read before the file: they may go into the file meanwhile, and never the other way. While another process writes
// them there, be it the program or one that settles its ring, the file may have a part of a row.
// Without `left` the dump is finished.
Result<MappedFile> open_records(const std::string& path, LeftRing* left, bool is_running) {
  if (left == nullptr) return MappedFile::open_settled(path);
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  *left = read_left_ring(file);
  if (left->rows.empty() && left->unready.empty()) return open_without_ring(file, path, is_running);
  TENSORTAP_ASSIGN_OR_RETURN(MappedFile map, MappedFile::open_with_room(file, kRingRows * sizeof(RecordRow)));
  add_left_rows(map.own_bytes(), *left);
  return map;
}

Status Index::read_records(const std::string& folder) {
  LeftRing left;
  Result<MappedFile> file = open_records(join_path(folder, kRecordsFile), finished_ ? nullptr : &left, is_running_);
  if (!file.ok()) {
    problems_.push_back(concat("the records are not known: ", file.status().message()));
    return {};
  }
  records_ = *std::move(file);
  TENSORTAP_ASSIGN_OR_RETURN(rows_, read_rows(records_.bytes(), finished_));
  problems_.insert(problems_.end(), rows_.problems.begin(), rows_.problems.end());
  if (left.handed_over > 0) completeness_.written.records = std::max<uint64_t>(left.handed_over, rows_.rows.size());
  if (!is_running_ && left.handed_over > rows_.rows.size()) {
    problems_.push_back(concat(kRecordsFile, " has ", grouped(rows_.rows.size()), " of ", grouped(left.handed_over), " records"));
  }
  if (!is_running_ && left.lost > 0)
    problems_.push_back(concat("the program had counted ", counted(left.lost, "lost record"), " before it died"));
  if (!finished_ && rows_.on_the_way > 0) {
    problems_.push_back(concat("tensors.npz: the values of ", counted(rows_.on_the_way, "record"), " have not arrived"));
  }
  return {};
}

Status Index::check_crc(std::span<const std::byte> bytes, const ZipEntry& entry, size_t row) const {
  std::call_once(checked_once_, [this] { checked_ = std::make_unique<std::atomic<bool>[]>(rows_.rows.size()); });
  if (checked_[row].load(std::memory_order_relaxed)) return {};
  std::shared_ptr<const void> owner;
  if (const auto content = read_member(bytes, entry, owner); !content.ok()) return content.status();
  checked_[row].store(true, std::memory_order_relaxed);
  return {};
}

Result<RecordData> Index::data(size_t row) const {
  if (row >= rows_.rows.size()) return invalid_argument(concat("the dump has ", rows_.rows.size(), " records; there is no record ", row));
  TENSORTAP_RETURN_IF_ERROR(records_.check_still_whole());
  // A copy: the file is mapped, and another program may write into it between a check and a use.
  const RecordRow record = rows_.rows[row];
  if ((record.flags & kRecordHasData) == 0) return find_member({}, record).status();
  TENSORTAP_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, tensors_.bytes());
  const Result<ZipEntry> entry = find_member(bytes, record);
  if (!entry.ok()) return entry.status().with_context(record_name(record, op_of(*this, record).name));
  TENSORTAP_RETURN_IF_ERROR(check_crc(bytes, *entry, row));
  return member_tensor(bytes, record);
}

std::string Index::file(size_t row) const {
  const bool has_data = row < rows_.rows.size() && (rows_.rows[row].flags & kRecordHasData) != 0;
  return has_data ? std::string(kTensorsFile) : "";
}

std::string_view Index::attribute_bytes() const {
  const Result<std::span<const std::byte>> bytes = attributes_.bytes();
  return bytes.ok() ? std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string_view();
}

std::vector<uint64_t> Index::histogram(size_t row) const {
  if (row >= rows_.rows.size() || rows_.rows[row].histogram == 0) return {};
  const Result<std::span<const std::byte>> bytes = histograms_.bytes();
  if (!bytes.ok() || bytes->size() < kHistogramsBegin) return {};
  const uint64_t number = rows_.rows[row].histogram - 1;
  constexpr uint64_t kRowBytes = kHistogramNumbers * sizeof(uint64_t);
  if (number >= (bytes->size() - kHistogramsBegin) / kRowBytes) return {};
  std::vector<uint64_t> numbers(kHistogramNumbers);
  std::memcpy(numbers.data(), bytes->data() + kHistogramsBegin + number * kRowBytes, kRowBytes);
  return numbers;
}

Result<TensorSketch> Index::sketch(size_t row) const {
  if (row >= rows_.rows.size() || !has_sketch(static_cast<SketchState>(rows_.rows[row].sketch))) return DumpIndex::sketch(row);
  TENSORTAP_RETURN_IF_ERROR(records_.check_still_whole());
  const RecordRow record = rows_.rows[row];
  TENSORTAP_ASSIGN_OR_RETURN(const std::span<const std::byte> rows, sketches_.bytes());
  // Sketches of blocks alone have no file of channels.
  const Result<std::span<const std::byte>> channels = channels_.bytes();
  if (!channels.ok() && channels.status().code() != StatusCode::kNotFound) return channels.status();
  std::call_once(sketches_once_, [&] { sketch_index_ = SketchIndex(rows, channels.ok() ? *channels : std::span<const std::byte>()); });
  Result<TensorSketch> sketch = sketch_index_.find(record.sequence);
  if (!sketch.ok()) return sketch.status().with_context(record_name(record, op_of(*this, record).name));
  return sketch;
}

}  // namespace

Confidence recognise_dump(const std::string& folder) {
  const bool records = path_exists(join_path(folder, kRecordsFile));
  const bool ops = path_exists(join_path(folder, kOpsFile));
  if (records && ops) return Confidence::kCertain;
  // The two may be gone.
  const bool rest = path_exists(join_path(folder, kRunFile)) && path_exists(join_path(folder, kTensorsFile));
  return records || ops || rest ? Confidence::kMaybe : Confidence::kNo;
}

Result<std::unique_ptr<DumpIndex>> open_dump_folder(const std::string& folder) {
  auto index = std::make_unique<Index>(folder);
  TENSORTAP_RETURN_IF_ERROR(index->open(folder).with_context(folder));
  return with_crashes(std::move(index), folder);
}

}  // namespace tensortap::tap
