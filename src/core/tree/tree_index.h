// A dump that was read from the tree of another system.

#ifndef TENSORTAP_TREE_TREE_INDEX_H_
#define TENSORTAP_TREE_TREE_INDEX_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "trace/dump_index.h"
#include "trace/op_info.h"
#include "trace/record_row.h"
#include "tree/tree_rows.h"
#include "tree/walk.h"

namespace tensortap {

// What was read.
struct TreeContent {
  Tree tree;
  TreeRows rows;
  std::string manifest;  // JSON
  std::vector<std::string> problems;
  std::vector<std::string> damage{};  // the problems that cost records
};

// A layout supplies the data of a row. Immutable. Thread-safe.
class TreeIndex : public DumpIndex {
 public:
  // `layout` outlives the index.
  TreeIndex(std::string_view layout, TreeContent content);

  std::string_view layout() const final { return layout_; }
  std::span<const RecordRow> rows() const final { return content_.rows.rows; }
  std::span<const OpInfo> ops() const final { return content_.rows.ops; }
  std::string_view file_name_of(OpId op) const final {
    return op < content_.rows.op_files.size() ? std::string_view(content_.rows.op_files[op]) : std::string_view();
  }
  std::string manifest() const final { return content_.manifest; }
  std::span<const std::string> problems() const final { return content_.problems; }
  // Unknown, unless a file is damaged or the manifest names a gap: no list of the files exists.
  Completeness completeness() const final { return completeness_; }
  std::vector<uint64_t> histogram(size_t /*row*/) const final { return {}; }
  Result<RecordData> data(size_t row) const final {
    if (row < rows().size()) return map(row, rows()[row]);
    return invalid_argument(concat("the dump has ", rows().size(), " records; there is no record ", row));
  }
  std::string file(size_t row) const final { return row < rows().size() ? path_of(row) : ""; }

 protected:
  // Gets rows that exist only, as the following do.
  [[nodiscard]] virtual Result<RecordData> map(size_t row, const RecordRow& record) const = 0;

  // The path of the row's file, or of the table of its statistics, relative to the folder that was opened.
  [[nodiscard]] std::string path_of(size_t row) const {
    const TreeFolder& folder = content_.tree.folders[content_.rows.folders[row]];
    return relative_to_tree(folder, has_file(row) ? file_of(row).stored : folder.statistics);
  }
  [[nodiscard]] bool has_file(size_t row) const { return content_.rows.files[row] != kNoFile; }
  // The file of a row that has one, to open.
  [[nodiscard]] std::string path_to_open(size_t row) const {
    return join_path(content_.tree.folders[file_of(row).folder].path, file_of(row).stored);
  }

 private:
  [[nodiscard]] const TreeFile& file_of(size_t row) const { return content_.tree.files[content_.rows.files[row]]; }

  std::string_view layout_;
  TreeContent content_;
  Completeness completeness_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_TREE_INDEX_H_
