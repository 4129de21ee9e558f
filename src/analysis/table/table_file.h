// A file of columns, in one of the forms that `tensortap export` writes.

#ifndef TENSORTAP_TABLE_TABLE_FILE_H_
#define TENSORTAP_TABLE_TABLE_FILE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "base/files.h"
#include "base/status.h"

namespace tensortap {

enum class TableForm : uint8_t { kParquet, kArrow };
// "parquet", "arrow": also the extension of the files.
std::string_view form_name(TableForm form);

class TableFile {
 public:
  virtual ~TableFile() = default;
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // Makes a new file at `path`, whose rows are in the order of its first `sorted_by` columns.
  static Result<std::unique_ptr<TableFile>> create(TableForm form, const std::string& path, std::vector<ColumnSpec> columns,
                                                   size_t sorted_by);
  // Adds rows; one group of them in the file.
  virtual Status add(std::vector<Column> columns) = 0;
  // Writes the end and closes. Nothing follows.
  virtual Status finish() = 0;
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 protected:
  explicit TableFile(File file) : file_(std::move(file)) {}
  Status put(std::string_view bytes) {
    bytes_ += bytes.size();
    return file_.write(bytes);
  }
  Status close() { return file_.close(); }

 private:
  File file_;
  uint64_t bytes_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_TABLE_FILE_H_
