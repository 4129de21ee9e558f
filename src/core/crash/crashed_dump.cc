#include "crash/crashed_dump.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "crash/crash_file.h"

namespace tensortap {
namespace {

class CrashedDump : public DumpIndex {
 public:
  explicit CrashedDump(std::unique_ptr<DumpIndex> dump)
      : dump_(std::move(dump)),
        rows_(dump_->rows().begin(), dump_->rows().end()),
        ops_(dump_->ops().begin(), dump_->ops().end()),
        problems_(dump_->problems().begin(), dump_->problems().end()),
        manifest_(dump_->manifest()) {
    for (size_t i = 0; i < ops_.size(); ++i) by_name_.emplace(ops_[i].name, static_cast<OpId>(i));
  }

  void add(std::unique_ptr<CrashFile> crash, const std::string& name, std::string_view advice) {
    std::map<OpId, OpId> numbers;
    for (const CrashFile::Op* op : crash->known_ops()) numbers[op->op] = number_of(*op);
    for (RecordRow row : crash->rows()) {
      const auto known = numbers.find(row.op);
      // Files of older versions describe only what ran; their numbers are those of the dump.
      if (known != numbers.end()) row.op = known->second;
      rows_.push_back(row);
    }
    problems_.push_back(concat(crash->text(), ": ", crash->rows().size(), " tensors are in ", name, advice));
    if (Result<Json> manifest = parse_json(manifest_, "the manifest"); manifest.ok()) {
      crash->add_to_manifest(*manifest);
      manifest_ = to_json_text(*manifest);
    }
    crashes_.push_back({std::move(crash), name});
  }

  void add_problem(const std::string& problem) { problems_.push_back(problem); }

  std::string_view layout() const override { return dump_->layout(); }
  std::string_view model() const override { return dump_->model(); }
  std::span<const RecordRow> rows() const override { return rows_; }
  [[nodiscard]] std::vector<std::string> unknown_columns() const override { return dump_->unknown_columns(); }
  std::span<const OpInfo> ops() const override { return ops_; }
  std::string manifest() const override { return manifest_; }
  std::string_view attribute_bytes() const override { return dump_->attribute_bytes(); }
  Result<std::string> document(std::string_view name) const override { return dump_->document(name); }
  std::span<const std::string> problems() const override { return problems_; }
  Completeness completeness() const override {
    Completeness completeness = dump_->completeness();
    for (const Left& left : crashes_) completeness.lack(left.crash->text());
    completeness.found.records = rows_.size();
    completeness.count_steps(rows_);
    return completeness;
  }

  Result<RecordData> data(size_t row) const override {
    size_t number = 0;
    const Left* left = left_of(row, number);
    return left == nullptr ? dump_->data(row) : left->crash->data(number);
  }

  std::string file(size_t row) const override {
    size_t number = 0;
    const Left* left = left_of(row, number);
    if (left == nullptr) return dump_->file(row);
    return (rows_[row].flags & kRecordHasData) == 0 ? "" : left->name;
  }

  std::vector<uint64_t> histogram(size_t row) const override {
    return row < dump_->rows().size() ? dump_->histogram(row) : std::vector<uint64_t>();
  }
  Result<TensorSketch> sketch(size_t row) const override {
    return row < dump_->rows().size() ? dump_->sketch(row) : DumpIndex::sketch(row);
  }

 private:
  struct Left {
    std::unique_ptr<CrashFile> crash;
    std::string name;
  };

  // The crash file that holds a row, and the row's number there; null for rows of the dump itself, and for those that do not exist.
  const Left* left_of(size_t row, size_t& number) const {
    if (row < dump_->rows().size() || row >= rows_.size()) return nullptr;
    number = row - dump_->rows().size();
    for (const Left& left : crashes_) {
      if (number < left.crash->rows().size()) return &left;
      number -= left.crash->rows().size();
    }
    return nullptr;
  }

  // Names are unique in a session, whatever the layout kept of the op so far.
  OpId number_of(const CrashFile::Op& op) {
    const auto [found, is_new] = by_name_.try_emplace(op.name, static_cast<OpId>(ops_.size()));
    if (is_new) ops_.push_back(op.info());
    return found->second;
  }

  std::unique_ptr<DumpIndex> dump_;
  std::vector<Left> crashes_;
  std::vector<RecordRow> rows_;
  std::vector<OpInfo> ops_;
  std::vector<std::string> problems_;
  std::string manifest_;
  std::map<std::string, OpId, std::less<>> by_name_;
};

}  // namespace

std::unique_ptr<DumpIndex> with_crashes(std::unique_ptr<DumpIndex> dump, const std::string& folder, std::string_view advice) {
  const std::string layout(dump->layout());
  std::unique_ptr<CrashedDump> crashed;
  for (const std::string& name : CrashFile::names_in(folder)) {
    Result<std::unique_ptr<CrashFile>> crash = CrashFile::read(join_path(folder, name));
    if (crash.ok() && (*crash)->layout() != layout) continue;
    if (crashed == nullptr) crashed = std::make_unique<CrashedDump>(std::move(dump));
    if (crash.ok()) {
      crashed->add(*std::move(crash), name, advice);
    } else {
      crashed->add_problem(crash.status().message());
    }
  }
  if (crashed == nullptr) return dump;
  return crashed;
}

}  // namespace tensortap
