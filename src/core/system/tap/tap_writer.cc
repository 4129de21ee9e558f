#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "system/tap/documents.h"
#include "system/tap/ops_file.h"
#include "system/tap/records_file.h"
#include "system/tap/sketches_file.h"
#include "system/tap/tap_files.h"
#include "system/tap/tensors_file.h"
#include "system/tap/written_files.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

// A string tensor's bytes as docs/layouts/tap.md has them: sizes, then texts.
std::string pack_strings(const StringElement* strings, uint64_t count) {
  std::string packed(count * sizeof(uint64_t), '\0');
  for (uint64_t i = 0; i < count; ++i) std::memcpy(packed.data() + i * sizeof(uint64_t), &strings[i].size, sizeof(uint64_t));
  for (uint64_t i = 0; i < count; ++i) packed.append(strings[i].data, strings[i].size);
  return packed;
}

// What the writer fills in of a row, to be put back when it could not add it.
class Filled {
 public:
  explicit Filled(const RecordRow& row) : place_(DataPlace::of(row)), histogram_(row.histogram), flags_(row.flags) {}
  void put_back(RecordRow& row) const {
    place_.put_into(row);
    row.histogram = histogram_;
    row.flags = flags_;
  }

 private:
  DataPlace place_;
  uint64_t histogram_;
  uint8_t flags_;
};

uint64_t row_bytes(const ExponentHistogram* histogram) { return sizeof(RecordRow) + (histogram == nullptr ? 0 : sizeof(*histogram)); }

void forget_values(RecordRow& row) {
  row.flags &= static_cast<uint8_t>(~(kRecordHasData | kRecordRaw));
  row.data_offset = row.data_bytes = row.member = row.data_header = 0;
}

// Whether there is something to keep; a tensor without elements has values, too.
bool has_values(const RecordRow& row, const TensorView& data) {
  return (data.data != nullptr || row.numel == 0) && data.desc.dtype != DType::kUndefined;
}

class Writer : public LayoutWriter,
               public KeepsSketches,
               public KeepsDocuments,
               public SharesData,
               public WritesRowsFirst,
               public ReportsLosses {
 public:
  Writer(Folder folder, const CaptureSpec& spec, File ops, std::unique_ptr<RecordsFile> records)
      : folder_(std::move(folder)),
        access_(spec.access),
        room_(spec.limits.max_bytes),
        ops_(std::move(ops)),
        records_(std::move(records)),
        sketches_(folder_, access_, room_),
        documents_(folder_, access_, room_) {}

  LayoutParts parts() override {
    LayoutParts own;
    own.sketches = this;
    own.documents = this;
    own.shared_data = this;
    own.rows_first = this;
    own.losses = this;
    return own;
  }
  Status add_op(OpId id, const OpInfo& op) override;
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return true; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) override;
  Result<uint64_t> add_row_first(RecordRow& row, const ExponentHistogram* histogram) override;
  Status add_values(uint64_t number, RecordRow& row, const TensorView* data) override;
  void count_lost(uint64_t records) override { records_->count_lost(records); }
  LostRecords take_lost() override { return records_->take_lost(); }
  Status add_reference(RecordRow& row, const ExponentHistogram* histogram) override;
  Status add_sketch(const RecordRow& row, const TensorSketch& sketch) override { return sketches_.add(row.sequence, sketch); }
  Status add_document(std::string_view path, std::string_view content, bool append) override {
    return documents_.add(path, content, append);
  }
  Status add_attributes(std::string_view bytes) override { return documents_.add(kAttributesFile, bytes, false); }
  Status flush() override;
  std::vector<GoneFile> end_files() override;
  Status finish(std::string_view manifest) override;
  [[nodiscard]] uint64_t bytes_written() const override;

 private:
  Status write_ops();
  Status add_histogram(RecordRow& row, const ExponentHistogram* histogram);
  Status begin_row(RecordRow& row, const ExponentHistogram* histogram);
  Status count_data(const RecordRow& row);
  Result<TensorsFile::Place> write_values(RecordRow& row, const TensorView& data);
  Status take_row(const RecordRow& row, uint64_t bytes);
  std::string name_of(OpId op);
  Status update_histograms();
  [[nodiscard]] std::vector<WrittenFile> written_files() const;
  [[nodiscard]] std::string with_files(std::string_view manifest) const;

  const Folder folder_;
  const Access access_;
  DumpRoom room_;
  std::mutex ops_mutex_;  // everything about ops
  File ops_;
  std::string ops_waiting_;  // lines that are not in the file yet, because the disk was full
  uint64_t ops_bytes_ = 0;
  uint64_t ops_lines_ = 0;
  CutWatch ops_cut_;
  std::vector<std::string> names_;  // by op id, for the names of members
  std::vector<OpId> left_out_;      // ops whose line has no room; rising
  std::atomic<bool> has_left_out_{false};
  std::unique_ptr<RecordsFile> records_;
  std::unique_ptr<TensorsFile> tensors_;  // made with its first member; the thread of add_record() with data, flush() and finish()
  std::atomic<TensorsFile*> tensors_seen_{nullptr};
  std::mutex histograms_mutex_;
  File histograms_;
  std::atomic<uint64_t> histogram_rows_{0};
  CutWatch histograms_cut_;
  std::atomic<uint64_t> data_rows_{0};  // that have values
  bool has_ended_ = false;
  Status end_status_;
  Json files_;  // for the manifest
  SketchesFile sketches_;
  Documents documents_;
};

Status Writer::add_op(OpId id, const OpInfo& op) {
  const std::lock_guard lock(ops_mutex_);
  if (names_.size() <= id) names_.resize(size_t{id} + 1);
  names_[id] = op.name;
  const std::string line = op_line(id, op);
  if (Status status = room_.take(line.size()); !status.ok()) {
    left_out_.push_back(id);
    has_left_out_.store(true, std::memory_order_release);
    return status;
  }
  ops_waiting_ += line;
  ++ops_lines_;
  return write_ops();
}

Status Writer::write_ops() {
  if (ops_waiting_.empty()) return {};
  TENSORTAP_RETURN_IF_ERROR(ops_cut_.append(ops_, ops_bytes_, std::as_bytes(std::span(ops_waiting_))));
  ops_bytes_ += ops_waiting_.size();
  ops_waiting_.clear();
  return {};
}

// A row takes its place where its op has its line.
Status Writer::take_row(const RecordRow& row, uint64_t bytes) {
  if (has_left_out_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(ops_mutex_);
    // More than there ever is.
    if (std::ranges::binary_search(left_out_, row.op)) return room_.take(UINT64_MAX);
  }
  return room_.take(bytes);
}

std::string Writer::name_of(OpId op) {
  const std::lock_guard lock(ops_mutex_);
  return op < names_.size() ? names_[op] : "";
}

Status Writer::add_histogram(RecordRow& row, const ExponentHistogram* histogram) {
  row.histogram = 0;
  if (histogram == nullptr) return {};
  const std::lock_guard lock(histograms_mutex_);
  if (!histograms_.is_open()) {
    TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(kHistogramsFile, O_RDWR | O_CREAT | O_EXCL, access_));
    histograms_ = std::move(file);
    const std::string header = make_histograms_header(0);
    TENSORTAP_RETURN_IF_ERROR(histograms_.write_at(0, std::as_bytes(std::span(header))));
  }
  static_assert(sizeof(ExponentHistogram) == kHistogramNumbers * sizeof(uint64_t));
  const uint64_t number = histogram_rows_.load();
  const uint64_t offset = kHistogramsBegin + number * sizeof(ExponentHistogram);
  TENSORTAP_RETURN_IF_ERROR(histograms_cut_.append(histograms_, offset, std::as_bytes(std::span(histogram, 1))));
  histogram_rows_.store(number + 1);
  row.histogram = number + 1;
  return {};
}

// Fills in where they are.
Result<TensorsFile::Place> Writer::write_values(RecordRow& row, const TensorView& data) {
  if (tensors_ == nullptr) {
    TENSORTAP_ASSIGN_OR_RETURN(tensors_, TensorsFile::create(folder_, access_, room_));
    tensors_seen_.store(tensors_.get(), std::memory_order_release);
  }
  const DTypeInfo& info = dtype_info(data.desc.dtype);
  std::string packed;
  std::span<const std::byte> bytes(static_cast<const std::byte*>(data.data), row.bytes);
  if (info.kind == DTypeKind::kString) {
    packed = pack_strings(static_cast<const StringElement*>(data.data), row.numel);
    bytes = std::as_bytes(std::span(packed));
  }
  const std::string name = member_name(row, name_of(row.op));
  TENSORTAP_ASSIGN_OR_RETURN(const TensorsFile::Place place,
                             tensors_->append(name, make_tensor_npy_header(data.desc, bytes.size()), bytes));
  row.data_offset = place.data_offset;
  row.data_header = static_cast<uint16_t>(place.data_offset - place.header_offset);
  row.data_bytes = bytes.size();
  row.member = place.member;
  row.flags |= kRecordHasData;
  if (info.is_raw_in_numpy || info.kind == DTypeKind::kString) row.flags |= kRecordRaw;
  return place;
}

// Counts the data of an accepted row.
Status Writer::count_data(const RecordRow& row) {
  if ((row.flags & kRecordHasData) != 0) ++data_rows_;
  return {};
}

// Takes the room for a row, and writes its histogram.
Status Writer::begin_row(RecordRow& row, const ExponentHistogram* histogram) {
  TENSORTAP_RETURN_IF_ERROR(take_row(row, row_bytes(histogram)));
  Status status = add_histogram(row, histogram);
  if (!status.ok()) room_.give_back(row_bytes(histogram));
  return status;
}

Status Writer::add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) {
  const Filled before(row);
  TENSORTAP_RETURN_IF_ERROR(begin_row(row, histogram));
  forget_values(row);
  std::optional<TensorsFile::Place> place;
  Status status;
  if (data != nullptr && has_values(row, *data)) {
    Result<TensorsFile::Place> written = write_values(row, *data);
    status = written.status();
    if (written.ok()) place = *written;
  }
  if (status.ok()) status = records_->append(row).status();
  if (status.ok()) return count_data(row);
  if (place.has_value()) tensors_->undo(*place);
  before.put_back(row);
  room_.give_back(row_bytes(histogram));
  return status;
}

Status Writer::add_reference(RecordRow& row, const ExponentHistogram* histogram) {
  const Filled before(row);
  TENSORTAP_RETURN_IF_ERROR(begin_row(row, histogram));
  Status status = records_->append(row).status();
  if (status.ok()) return count_data(row);
  before.put_back(row);
  room_.give_back(row_bytes(histogram));
  return status;
}

Result<uint64_t> Writer::add_row_first(RecordRow& row, const ExponentHistogram* histogram) {
  const Filled before(row);
  TENSORTAP_RETURN_IF_ERROR(begin_row(row, histogram));
  forget_values(row);
  row.flags |= kRecordDataLost;
  row.member = kValuesOnTheWay;
  Result<uint64_t> number = records_->append_first(row);
  if (number.ok()) return number;
  before.put_back(row);
  room_.give_back(row_bytes(histogram));
  return number;
}

Status Writer::add_values(uint64_t number, RecordRow& row, const TensorView* data) {
  if (data == nullptr) {
    TENSORTAP_RETURN_IF_ERROR(records_->put_values(number, row));
    return count_data(row);
  }
  forget_values(row);
  if (!has_values(row, *data)) return records_->put_values(number, row);
  const Result<TensorsFile::Place> place = write_values(row, *data);
  if (!place.ok()) {
    (void)records_->put_values(number, row);
    return place.status();
  }
  row.flags &= static_cast<uint8_t>(~kRecordDataLost);
  Status status = records_->put_values(number, row);
  if (status.ok()) return count_data(row);
  tensors_->undo(*place);
  forget_values(row);
  row.flags |= kRecordDataLost;
  return status;
}

Status Writer::update_histograms() {
  const std::lock_guard lock(histograms_mutex_);
  if (!histograms_.is_open()) return {};
  const std::string header = make_histograms_header(histogram_rows_.load());
  return histograms_.write_at(0, std::as_bytes(std::span(header)));
}

Status Writer::flush() {
  {
    const std::lock_guard lock(ops_mutex_);
    TENSORTAP_RETURN_IF_ERROR(write_ops());
  }
  TENSORTAP_RETURN_IF_ERROR(update_histograms());
  TENSORTAP_RETURN_IF_ERROR(sketches_.flush());
  return records_->flush();
}

std::vector<WrittenFile> Writer::written_files() const {
  const uint64_t rows = records_->finished_rows();
  std::vector<WrittenFile> files;
  files.push_back({std::string(kRecordsFile), &records_->file(), kRowsBegin + rows * sizeof(RecordRow), rows, false, rows});
  files.push_back({std::string(kOpsFile), &ops_, ops_bytes_, ops_lines_, ops_cut_.seen(), rows});
  if (tensors_ != nullptr) {
    const uint64_t gone = tensors_->gone();
    files.push_back({std::string(kTensorsFile), &tensors_->file(), tensors_->bytes_written(), tensors_->members(), gone > 0,
                     gone > 0 ? gone : data_rows_.load()});
  }
  if (histograms_.is_open()) {
    const uint64_t count = histogram_rows_.load();
    files.push_back({std::string(kHistogramsFile), &histograms_, kHistogramsBegin + count * sizeof(ExponentHistogram), count,
                     histograms_cut_.seen(), count});
  }
  sketches_.tell_files(files);
  documents_.tell_files(files);
  return files;
}

std::vector<GoneFile> Writer::end_files() {
  has_ended_ = true;
  end_status_ = flush();
  const auto keep_first = [this](Status status) {
    if (end_status_.ok()) end_status_ = std::move(status);
  };
  if (tensors_ != nullptr) keep_first(tensors_->finish());
  keep_first(records_->finish());
  const std::vector<WrittenFile> files = written_files();
  files_ = files_json(files);
  std::vector<GoneFile> gone;
  for (const WrittenFile& one : files) {
    const std::string_view how = what_became_of(one, folder_);
    if (!how.empty()) gone.push_back({one.name, how, one.records});
  }
  return gone;
}

// A manifest that is not an object stays unchanged.
std::string Writer::with_files(std::string_view manifest) const {
  Result<Json> json = parse_json(manifest, kRunFile);
  if (!json.ok() || !json->is_object()) return std::string(manifest);
  (*json)[kFilesMember] = files_;
  return to_json_text(*json);
}

Status Writer::finish(std::string_view manifest) {
  if (!has_ended_) end_files();
  const Status written = folder_.replace_file(kRunFile, with_files(manifest), access_);
  return end_status_.ok() ? written : end_status_;
}

uint64_t Writer::bytes_written() const {
  const TensorsFile* tensors = tensors_seen_.load(std::memory_order_acquire);
  return kRowsBegin + records_->rows() * sizeof(RecordRow) + (tensors != nullptr ? tensors->bytes_written() : 0) +
         histogram_rows_.load() * sizeof(ExponentHistogram) + sketches_.bytes_written() + documents_.bytes_written();
}

}  // namespace

Result<std::unique_ptr<LayoutWriter>> create_dump(const DumpInfo& info, const CaptureSpec& spec) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder folder, Folder::open(info.folder));
  TENSORTAP_ASSIGN_OR_RETURN(File ops, folder.open_file(kOpsFile, O_RDWR | O_CREAT | O_EXCL, spec.access));
  TENSORTAP_ASSIGN_OR_RETURN(auto records, RecordsFile::create(folder, spec.access));
  return std::unique_ptr<LayoutWriter>(new Writer(std::move(folder), spec, std::move(ops), std::move(records)));
}

}  // namespace tensortap::tap
