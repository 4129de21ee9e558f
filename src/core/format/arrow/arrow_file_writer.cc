#include "format/arrow/arrow_file_writer.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "format/arrow/arrow_buffers.h"
#include "format/arrow/flat_buffer.h"

namespace tensortap {
namespace {

using Field = FlatBuffer::Field;

// Numbers of the format.
constexpr uint64_t kVersion5 = 4;
constexpr uint64_t kSchemaHeader = 1;
constexpr uint64_t kBatchHeader = 3;
enum class FlatType : uint64_t { kInt = 2, kFloat = 3, kBinary = 4, kUtf8 = 5, kBool = 6, kList = 12 };
constexpr uint64_t kDoublePrecision = 2;
constexpr std::string_view kMagic = "ARROW1";
constexpr size_t kAlignment = 8;

struct Integer {
  uint64_t bits = 0;  // 0 = none
  bool is_signed = false;
};

Integer integer_of(ColumnType type) {
  switch (type) {
    case ColumnType::kUInt8:
      return {8, false};
    case ColumnType::kUInt16:
      return {16, false};
    case ColumnType::kUInt32:
      return {32, false};
    case ColumnType::kInt32:
      return {32, true};
    case ColumnType::kUInt64:
      return {64, false};
    case ColumnType::kInt64:
      return {64, true};
    default:
      return {};
  }
}

FlatType flat_type(ColumnType type) {
  switch (type) {
    case ColumnType::kFlag:
      return FlatType::kBool;
    case ColumnType::kDouble:
      return FlatType::kFloat;
    case ColumnType::kText:
      return FlatType::kUtf8;
    case ColumnType::kBytes:
      return FlatType::kBinary;
    case ColumnType::kSizes:
      return FlatType::kList;
    default:
      return FlatType::kInt;
  }
}

void write_field(const ColumnSpec& column, size_t place, FlatBuffer& buffer) {
  const auto type = static_cast<uint64_t>(flat_type(column.type));
  const std::vector<size_t> field = buffer.table({FlatBuffer::kOffset, Field{1, column.optional ? 1U : 0U}, Field{1, type},
                                                  FlatBuffer::kOffset, FlatBuffer::kNone, FlatBuffer::kOffset},
                                                 place);
  buffer.text(field[0], column.name);
  const Integer integer = integer_of(column.type);
  if (integer.bits != 0) {
    buffer.table({Field{4, integer.bits}, Field{1, integer.is_signed ? 1U : 0U}}, field[3]);
  } else if (column.type == ColumnType::kDouble) {
    buffer.table({Field{2, kDoublePrecision}}, field[3]);
  } else {
    buffer.table({}, field[3]);
  }
  const bool is_list = column.type == ColumnType::kSizes;
  for (const size_t child : buffer.offsets(field[5], is_list ? 1 : 0)) write_field({"item", ColumnType::kInt64, true}, child, buffer);
}

void write_schema(std::span<const ColumnSpec> columns, size_t place, FlatBuffer& buffer) {
  const std::vector<size_t> schema = buffer.table({Field{2, 0}, FlatBuffer::kOffset}, place);
  const std::vector<size_t> fields = buffer.offsets(schema[1], columns.size());
  for (size_t i = 0; i < columns.size(); ++i) write_field(columns[i], fields[i], buffer);
}

size_t padded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// What a batch says of its arrays, and their bytes.
struct Body {
  std::vector<uint64_t> nodes;    // length and nulls of each array
  std::vector<uint64_t> buffers;  // offset and size of each buffer
  std::string bytes;
};

void add_array(const ArrowBuffers& array, Body& body) {
  body.nodes.push_back(array.length);
  body.nodes.push_back(array.nulls);
  for (const std::vector<std::byte>& buffer : array.buffers) {
    body.buffers.push_back(body.bytes.size());
    body.buffers.push_back(buffer.size());
    body.bytes.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
    body.bytes.resize(padded(body.bytes.size()), '\0');
  }
  for (const ArrowBuffers& child : array.children) add_array(child, body);
}

std::string schema_message(std::span<const ColumnSpec> columns) {
  FlatBuffer buffer;
  const std::vector<size_t> message = buffer.table({Field{2, kVersion5}, Field{1, kSchemaHeader}, FlatBuffer::kOffset, Field{8, 0}});
  write_schema(columns, message[2], buffer);
  return buffer.bytes();
}

std::string batch_message(uint64_t rows, const Body& body) {
  FlatBuffer buffer;
  const std::vector<size_t> message =
      buffer.table({Field{2, kVersion5}, Field{1, kBatchHeader}, FlatBuffer::kOffset, Field{8, body.bytes.size()}});
  const std::vector<size_t> batch = buffer.table({Field{8, rows}, FlatBuffer::kOffset, FlatBuffer::kOffset}, message[2]);
  buffer.structures(batch[1], body.nodes.size() / 2, body.nodes);
  buffer.structures(batch[2], body.buffers.size() / 2, body.buffers);
  return buffer.bytes();
}

void append_number(uint32_t value, std::string& bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
}

}  // namespace

Status ArrowFileWriter::put(std::string_view bytes) {
  TENSORTAP_RETURN_IF_ERROR(write_(bytes));
  size_ += bytes.size();
  return {};
}

// A message without its body: its size, itself, and zeros up to where the body is aligned.
Status ArrowFileWriter::put_metadata(std::string_view flat_buffer, uint64_t& bytes) {
  std::string framed;
  append_number(UINT32_MAX, framed);
  append_number(static_cast<uint32_t>(padded(flat_buffer.size())), framed);
  framed += flat_buffer;
  framed.resize(padded(framed.size()), '\0');
  bytes = framed.size();
  return put(framed);
}

Status ArrowFileWriter::begin() {
  if (size_ > 0) return {};
  std::string start(kMagic);
  start.resize(kAlignment, '\0');
  TENSORTAP_RETURN_IF_ERROR(put(start));
  uint64_t bytes = 0;
  return put_metadata(schema_message(columns_), bytes);
}

Status ArrowFileWriter::add(std::vector<Column> columns) {
  TENSORTAP_RETURN_IF_ERROR(begin());
  Body body;
  uint64_t rows = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(const ArrowBuffers array, arrow_buffers(columns_[i].type, std::move(columns[i])));
    rows = array.length;
    add_array(array, body);
  }
  Block block{size_, 0, body.bytes.size()};
  TENSORTAP_RETURN_IF_ERROR(put_metadata(batch_message(rows, body), block.metadata_bytes));
  TENSORTAP_RETURN_IF_ERROR(put(body.bytes));
  blocks_.push_back(block);
  return {};
}

Status ArrowFileWriter::finish() {
  TENSORTAP_RETURN_IF_ERROR(begin());
  std::string end;
  append_number(UINT32_MAX, end);
  append_number(0, end);
  FlatBuffer footer;
  const std::vector<size_t> fields = footer.table({Field{2, kVersion5}, FlatBuffer::kOffset, FlatBuffer::kOffset, FlatBuffer::kOffset});
  write_schema(columns_, fields[1], footer);
  footer.structures(fields[2], 0, {});
  std::vector<uint64_t> words;
  for (const Block& block : blocks_) words.insert(words.end(), {block.offset, block.metadata_bytes, block.body_bytes});
  footer.structures(fields[3], blocks_.size(), words);
  end += footer.bytes();
  append_number(static_cast<uint32_t>(footer.bytes().size()), end);
  end += kMagic;
  return put(end);
}

}  // namespace tensortap
