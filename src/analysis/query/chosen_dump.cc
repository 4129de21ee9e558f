#include "query/chosen_dump.h"

#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap {
namespace {

class ChosenDump : public DumpIndex {
 public:
  ChosenDump(std::unique_ptr<DumpIndex> whole, std::vector<uint32_t> numbers) : whole_(std::move(whole)), numbers_(std::move(numbers)) {
    rows_.reserve(numbers_.size());
    for (const uint32_t number : numbers_) rows_.push_back(whole_->rows()[number]);
  }

  std::string_view layout() const override { return whole_->layout(); }
  std::string_view model() const override { return whole_->model(); }
  std::span<const RecordRow> rows() const override { return rows_; }
  std::span<const OpInfo> ops() const override { return whole_->ops(); }
  Result<RecordData> data(size_t row) const override { return whole_->data(number_of(row)); }
  std::string file(size_t row) const override { return row < numbers_.size() ? whole_->file(numbers_[row]) : ""; }
  std::string_view file_name_of(OpId op) const override { return whole_->file_name_of(op); }
  std::string manifest() const override { return whole_->manifest(); }
  std::span<const std::string> problems() const override { return whole_->problems(); }
  std::vector<std::string> unknown_columns() const override { return whole_->unknown_columns(); }
  std::string_view attribute_bytes() const override { return whole_->attribute_bytes(); }
  Result<std::string> document(std::string_view name) const override { return whole_->document(name); }
  std::vector<uint64_t> histogram(size_t row) const override {
    return row < numbers_.size() ? whole_->histogram(numbers_[row]) : std::vector<uint64_t>();
  }
  Result<TensorSketch> sketch(size_t row) const override { return whole_->sketch(number_of(row)); }
  Completeness completeness() const override {
    Completeness own = whole_->completeness();
    own.found.records = rows_.size();
    own.found.tensors.reset();
    own.count_steps(rows_);
    own.lack(concat("only ", rows_.size(), " of ", whole_->rows().size(), " records were chosen"));
    return own;
  }

 private:
  // The dump itself refuses a row that does not exist.
  [[nodiscard]] size_t number_of(size_t row) const { return row < numbers_.size() ? numbers_[row] : std::numeric_limits<size_t>::max(); }

  std::unique_ptr<DumpIndex> whole_;
  std::vector<uint32_t> numbers_;  // by row: its number in the whole dump
  std::vector<RecordRow> rows_;
};

Status nothing_chosen(const DumpIndex& dump, const RowQuery& query) {
  const DumpIndex* const dumps[] = {&dump};
  const std::vector<std::string> reasons = unmatched_names(dumps, query);
  return not_found(reasons.empty() ? std::string("the selection chooses no record") : join(reasons, "; "));
}

}  // namespace

Status check_choice(const DumpIndex& dump, const RowQuery& query) {
  if (!is_selection(query)) return {};
  RowQuery first = query;
  first.limit = 1;
  const auto rows = select_rows(dump, first);
  if (!rows.ok()) return rows.status();
  return rows->empty() ? nothing_chosen(dump, query) : Status();
}

Result<std::unique_ptr<DumpIndex>> choose_records(std::unique_ptr<DumpIndex> dump, const RowQuery& query) {
  if (!is_selection(query)) return dump;
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<uint32_t> numbers, select_rows(*dump, query));
  if (numbers.empty()) return nothing_chosen(*dump, query);
  if (numbers.size() == dump->rows().size()) return dump;
  return std::unique_ptr<DumpIndex>(std::make_unique<ChosenDump>(std::move(dump), std::move(numbers)));
}

}  // namespace tensortap
