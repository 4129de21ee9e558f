#include "read/file_dump.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "read/tensor_file.h"

namespace tensortap {
namespace {

class FileDump : public DumpIndex {
 public:
  FileDump(const std::string& path, DescribedFile file)
      : name_(file_name(path)), file_(std::make_shared<const DescribedFile>(std::move(file))) {
    const size_t dot = name_.rfind('.');
    for (const DescribedTensor& described : file_->tensors) {
      OpInfo op;
      op.name = described.tensor.name.empty() ? name_.substr(0, dot == 0 ? std::string::npos : dot) : described.tensor.name;
      op.outputs.push_back(op.name);
      RecordRow row;
      row.sequence = rows_.size();
      row.op = static_cast<OpId>(ops_.size());
      row.set_desc(described.tensor.view.desc);
      row.stats = described.stats;
      row.committed = 1;
      if (described.tensor.view.data != nullptr || row.numel == 0) {
        row.flags |= kRecordHasData;
        row.data_bytes = row.bytes;
      }
      ops_.push_back(std::move(op));
      rows_.push_back(row);
    }
  }

  std::string_view layout() const override { return file_->format; }
  std::span<const RecordRow> rows() const override { return rows_; }
  std::span<const OpInfo> ops() const override { return ops_; }
  std::string manifest() const override { return "{}"; }
  std::span<const std::string> problems() const override { return {}; }
  std::vector<uint64_t> histogram(size_t /*row*/) const override { return {}; }
  std::string file(size_t row) const override { return row < rows_.size() ? name_ : ""; }
  Result<RecordData> data(size_t row) const override {
    if (row >= rows_.size()) return invalid_argument(concat("the file has ", rows_.size(), " tensors; there is no record ", row));
    if ((rows_[row].flags & kRecordHasData) == 0) return not_found(concat(name_, ": the file describes its tensor and holds no values"));
    return RecordData{file_->tensors[row].tensor.view, file_};
  }

 private:
  std::string name_;
  std::shared_ptr<const DescribedFile> file_;
  std::vector<OpInfo> ops_;
  std::vector<RecordRow> rows_;
};

}  // namespace

bool is_tensor_file(const std::string& path) { return format_of_file(path) != nullptr; }

Result<std::unique_ptr<DumpIndex>> open_tensor_file(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(DescribedFile file, describe_tensor_file(path));
  return std::unique_ptr<DumpIndex>(std::make_unique<FileDump>(path, std::move(file)));
}

}  // namespace tensortap
