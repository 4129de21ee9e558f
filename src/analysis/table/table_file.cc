#include "table/table_file.h"

#include <fcntl.h>

#include <utility>

#include "format/arrow/arrow_file_writer.h"
#include "format/parquet/parquet_writer.h"

namespace tensortap {
namespace {

class ParquetTable final : public TableFile {
 public:
  ParquetTable(File file, std::vector<ColumnSpec> columns, size_t sorted_by)
      : TableFile(std::move(file)), writer_(std::move(columns), sorted_by, [this](std::string_view bytes) { return put(bytes); }) {}
  Status add(std::vector<Column> columns) override { return writer_.add(columns); }
  Status finish() override {
    TENSORTAP_RETURN_IF_ERROR(writer_.finish({}));
    return close();
  }

 private:
  ParquetWriter writer_;
};

class ArrowTable final : public TableFile {
 public:
  ArrowTable(File file, std::vector<ColumnSpec> columns)
      : TableFile(std::move(file)), writer_(std::move(columns), [this](std::string_view bytes) { return put(bytes); }) {}
  Status add(std::vector<Column> columns) override { return writer_.add(std::move(columns)); }
  Status finish() override {
    TENSORTAP_RETURN_IF_ERROR(writer_.finish());
    return close();
  }

 private:
  ArrowFileWriter writer_;
};

}  // namespace

std::string_view form_name(TableForm form) { return form == TableForm::kParquet ? "parquet" : "arrow"; }

Result<std::unique_ptr<TableFile>> TableFile::create(TableForm form, const std::string& path, std::vector<ColumnSpec> columns,
                                                     size_t sorted_by) {
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open(path, O_WRONLY | O_CREAT | O_EXCL));
  if (form == TableForm::kArrow) return std::unique_ptr<TableFile>(std::make_unique<ArrowTable>(std::move(file), std::move(columns)));
  return std::unique_ptr<TableFile>(std::make_unique<ParquetTable>(std::move(file), std::move(columns), sorted_by));
}

}  // namespace tensortap
