#include "format/parquet/parquet_writer.h"

#include <optional>

#include "format/parquet/thrift_writer.h"

namespace tensortap {
namespace {

using parquet::ColumnChunk;
using parquet::Encoding;
using parquet::ThriftWriter;
using Kind = parquet::ThriftWriter::Kind;

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kCreator = "tensortap " TENSORTAP_VERSION;
constexpr int32_t kFormatVersion = 2;

// How readers are to understand a physical type: bits and sign of an integer.
struct IntegerKind {
  int8_t bits = 0;  // 0 = no integer
  bool is_signed = false;
  int32_t converted = 0;  // the older number for the same
};

IntegerKind integer_kind(ColumnType type) {
  switch (type) {
    case ColumnType::kUInt8:
      return {8, false, 11};
    case ColumnType::kUInt16:
      return {16, false, 12};
    case ColumnType::kUInt32:
      return {32, false, 13};
    case ColumnType::kInt32:
      return {32, true, 17};
    case ColumnType::kUInt64:
      return {64, false, 14};
    case ColumnType::kInt64:
      return {64, true, 18};
    default:
      return {};
  }
}

void write_column(const ColumnSpec& column, ThriftWriter& footer) {
  footer.begin_struct();
  footer.integer(1, static_cast<int32_t>(parquet::physical_type(column.type)));
  footer.integer(3, column.optional ? 1 : 0);
  footer.binary(4, column.name);
  const IntegerKind integer = integer_kind(column.type);
  if (integer.bits != 0) {
    footer.integer(6, integer.converted);
    footer.begin_struct(10);
    footer.begin_struct(10);
    footer.byte(1, integer.bits);
    footer.flag(2, integer.is_signed);
    footer.end_struct();
    footer.end_struct();
  } else if (column.type == ColumnType::kText) {
    footer.integer(6, 0);
    footer.begin_struct(10);
    footer.begin_struct(1);
    footer.end_struct();
    footer.end_struct();
  }
  footer.end_struct();
}

void write_schema(std::span<const ColumnSpec> columns, ThriftWriter& footer) {
  footer.begin_list(2, Kind::kStruct, columns.size() + 1);
  footer.begin_struct();
  footer.binary(4, "schema");
  footer.integer(5, static_cast<int32_t>(columns.size()));
  footer.end_struct();
  for (const ColumnSpec& column : columns) write_column(column, footer);
}

void write_statistics(const ColumnChunk& chunk, ThriftWriter& footer) {
  footer.begin_struct(12);
  footer.long_integer(3, static_cast<int64_t>(chunk.nulls));
  if (chunk.most) footer.binary(5, *chunk.most);
  if (chunk.least) footer.binary(6, *chunk.least);
  footer.end_struct();
}

void write_chunk(const ColumnSpec& column, const ColumnChunk& chunk, uint64_t offset, uint64_t bytes, ThriftWriter& footer) {
  footer.begin_struct();
  footer.long_integer(2, static_cast<int64_t>(offset));
  footer.begin_struct(3);
  footer.integer(1, static_cast<int32_t>(parquet::physical_type(column.type)));
  footer.begin_list(2, Kind::kInt32, chunk.has_dictionary ? 3 : 2);
  footer.element(static_cast<int32_t>(Encoding::kPlain));
  footer.element(static_cast<int32_t>(Encoding::kRuns));
  if (chunk.has_dictionary) footer.element(static_cast<int32_t>(Encoding::kDictionary));
  footer.begin_list(3, Kind::kBinary, 1);
  footer.element(column.name);
  footer.integer(4, parquet::kZstd);
  footer.long_integer(5, static_cast<int64_t>(chunk.rows));
  footer.long_integer(6, static_cast<int64_t>(chunk.plain_bytes));
  footer.long_integer(7, static_cast<int64_t>(bytes));
  footer.long_integer(9, static_cast<int64_t>(offset + chunk.first_data_page));
  if (chunk.has_dictionary) footer.long_integer(11, static_cast<int64_t>(offset));
  write_statistics(chunk, footer);
  footer.end_struct();
  footer.end_struct();
}

}  // namespace

ParquetWriter::ParquetWriter(std::vector<ColumnSpec> columns, size_t sorted_by, Write write)
    : columns_(std::move(columns)), sorted_by_(sorted_by), write_(std::move(write)) {}

Status ParquetWriter::put(std::string_view bytes) {
  TENSORTAP_RETURN_IF_ERROR(write_(bytes));
  size_ += bytes.size();
  return {};
}

Status ParquetWriter::add(std::span<const Column> columns) {
  if (size_ == 0) TENSORTAP_RETURN_IF_ERROR(put(kMagic));
  RowGroup group;
  for (size_t i = 0; i < columns.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(ColumnChunk chunk, parquet::make_chunk(columns_[i], columns[i], compressor_));
    const uint64_t offset = size_;
    const std::string pages = std::move(chunk.pages);
    TENSORTAP_RETURN_IF_ERROR(put(pages));
    group.rows = chunk.rows;
    group.columns.push_back({std::move(chunk), offset, pages.size()});
  }
  groups_.push_back(std::move(group));
  return {};
}

Status ParquetWriter::finish(std::span<const std::pair<std::string, std::string>> metadata) {
  if (size_ == 0) TENSORTAP_RETURN_IF_ERROR(put(kMagic));
  std::string end = footer(metadata);
  const size_t size = end.size();
  for (int shift = 0; shift < 32; shift += 8) end += static_cast<char>(size >> shift);
  end += kMagic;
  return put(end);
}

void ParquetWriter::write_group(const RowGroup& group, ThriftWriter& footer) const {
  footer.begin_struct();
  footer.begin_list(1, Kind::kStruct, group.columns.size());
  uint64_t plain = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < group.columns.size(); ++i) {
    const Place& place = group.columns[i];
    write_chunk(columns_[i], place.chunk, place.offset, place.bytes, footer);
    plain += place.chunk.plain_bytes;
    bytes += place.bytes;
  }
  footer.long_integer(2, static_cast<int64_t>(plain));
  footer.long_integer(3, static_cast<int64_t>(group.rows));
  if (sorted_by_ > 0) footer.begin_list(4, Kind::kStruct, sorted_by_);
  for (size_t i = 0; i < sorted_by_; ++i) {
    footer.begin_struct();
    footer.integer(1, static_cast<int32_t>(i));
    footer.flag(2, false);
    footer.flag(3, false);
    footer.end_struct();
  }
  footer.long_integer(6, static_cast<int64_t>(bytes));
  footer.end_struct();
}

std::string ParquetWriter::footer(std::span<const std::pair<std::string, std::string>> metadata) const {
  ThriftWriter footer;
  footer.begin_struct();
  footer.integer(1, kFormatVersion);
  write_schema(columns_, footer);
  uint64_t rows = 0;
  for (const RowGroup& group : groups_) rows += group.rows;
  footer.long_integer(3, static_cast<int64_t>(rows));
  footer.begin_list(4, Kind::kStruct, groups_.size());
  for (const RowGroup& group : groups_) write_group(group, footer);
  footer.begin_list(5, Kind::kStruct, metadata.size());
  for (const auto& [name, value] : metadata) {
    footer.begin_struct();
    footer.binary(1, name);
    footer.binary(2, value);
    footer.end_struct();
  }
  footer.binary(6, kCreator);
  // Without this readers do not trust the bounds of columns.
  footer.begin_list(7, Kind::kStruct, columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    footer.begin_struct();
    footer.begin_struct(1);
    footer.end_struct();
    footer.end_struct();
  }
  footer.end_struct();
  return footer.bytes();
}

}  // namespace tensortap
