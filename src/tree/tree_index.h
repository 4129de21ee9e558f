// A dump that was read from the tree of another system.

#ifndef TENSORTAP_TREE_TREE_INDEX_H_
#define TENSORTAP_TREE_TREE_INDEX_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trace/dump_index.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// What was read.
struct TreeContent {
  std::vector<RecordRow> rows;
  std::vector<OpInfo> ops;
  std::string manifest;  // JSON
  std::vector<std::string> problems;
};

// A layout supplies the file and the data of a row. Immutable. Thread-safe.
class TreeIndex : public DumpIndex {
 public:
  // `layout` outlives the index.
  TreeIndex(std::string_view layout, TreeContent content) : layout_(layout), content_(std::move(content)) {}

  std::string_view layout() const final { return layout_; }
  std::span<const RecordRow> rows() const final { return content_.rows; }
  std::span<const OpInfo> ops() const final { return content_.ops; }
  std::string manifest() const final { return content_.manifest; }
  std::span<const std::string> problems() const final { return content_.problems; }
  std::vector<uint64_t> histogram(size_t /*row*/) const final { return {}; }
  Result<RecordData> data(size_t row) const final {
    if (row < content_.rows.size()) return map(row, content_.rows[row]);
    return invalid_argument(concat("the dump has ", content_.rows.size(), " records; there is no record ", row));
  }
  std::string file(size_t row) const final { return row < content_.rows.size() ? path_of(row) : ""; }

 protected:
  // Both get rows that exist only. The path is relative to the folder that was opened.
  [[nodiscard]] virtual Result<RecordData> map(size_t row, const RecordRow& record) const = 0;
  [[nodiscard]] virtual std::string path_of(size_t row) const = 0;

 private:
  std::string_view layout_;
  TreeContent content_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_TREE_INDEX_H_
