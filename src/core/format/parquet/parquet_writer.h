// A Parquet file, written row group by row group: flat columns, dictionaries, zstd, statistics by which readers skip row groups.
// docs/formats/parquet.md.

#ifndef TENSORTAP_FORMAT_PARQUET_PARQUET_WRITER_H_
#define TENSORTAP_FORMAT_PARQUET_PARQUET_WRITER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/column.h"
#include "base/status.h"
#include "format/parquet/column_chunk.h"
#include "format/parquet/thrift_writer.h"

namespace tensortap {

// The bytes are the same whenever the values are. Thread-compatible.
class ParquetWriter {
 public:
  using Write = std::function<Status(std::string_view bytes)>;

  // `sorted_by`: how many of the first columns the rows are in the order of, ascending, rows without a value last. `write` takes the
  // bytes of the file in their order.
  ParquetWriter(std::vector<ColumnSpec> columns, size_t sorted_by, Write write);

  // Adds a row group: a column for each of the file's, all with the same number of rows, which is less than 2^31. Errors: those of
  // parquet::make_chunk() and of `write`; the file is lost then.
  Status add(std::span<const Column> columns);
  // What the file says of itself, by name; then its end. Nothing is added afterwards.
  Status finish(std::span<const std::pair<std::string, std::string>> metadata);

 private:
  struct Place {  // a chunk in the file, without its pages
    parquet::ColumnChunk chunk;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  struct RowGroup {
    uint64_t rows = 0;
    std::vector<Place> columns;
  };
  Status put(std::string_view bytes);
  void write_group(const RowGroup& group, parquet::ThriftWriter& footer) const;
  [[nodiscard]] std::string footer(std::span<const std::pair<std::string, std::string>> metadata) const;

  std::vector<ColumnSpec> columns_;
  size_t sorted_by_;
  Write write_;
  parquet::PageCompressor compressor_;
  std::vector<RowGroup> groups_;
  uint64_t size_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_PARQUET_PARQUET_WRITER_H_
