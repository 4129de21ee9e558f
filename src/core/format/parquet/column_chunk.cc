#include "format/parquet/column_chunk.h"

#include <zstd.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/spans.h"
#include "base/text.h"
#include "format/parquet/column_values.h"
#include "format/parquet/runs.h"
#include "format/parquet/thrift_writer.h"

namespace tensortap::parquet {
namespace {

constexpr size_t kPageRows = size_t{1} << 17;
constexpr size_t kPageBytes = size_t{1} << 20;  // a page ends with the value that reaches it
constexpr int kLevel = 1;
constexpr size_t kLongestPage = std::numeric_limits<int32_t>::max();

enum class PageKind : int32_t { kData = 0, kDictionary = 2 };

// Writes the pages of one chunk.
class ChunkMaker {
 public:
  ChunkMaker(const ColumnSpec& spec, const Column& column, PageCompressor& compressor)
      : spec_(spec), column_(column), compressor_(compressor) {}

  Result<ColumnChunk> make() {
    chunk_.rows = column_.values.size() / column_width(spec_.type);
    rows_.reserve(static_cast<size_t>(chunk_.rows));
    for (uint32_t row = 0; row < chunk_.rows; ++row) {
      if (column_.has(row)) rows_.push_back(row);
    }
    chunk_.nulls = chunk_.rows - rows_.size();
    set_bounds(spec_.type, column_, rows_, chunk_);
    dictionary_ = make_dictionary(spec_.type, column_, rows_);
    if (dictionary_) TENSORTAP_RETURN_IF_ERROR(add_dictionary());
    chunk_.first_data_page = chunk_.pages.size();
    size_t value = 0;
    for (size_t row = 0; row < chunk_.rows;) TENSORTAP_RETURN_IF_ERROR(add_page(row, value));
    return std::move(chunk_);
  }

 private:
  Status add_dictionary() {
    chunk_.has_dictionary = true;
    ThriftWriter header;
    begin_header(header, PageKind::kDictionary);
    return finish_page(header, dictionary_->values, [this](ThriftWriter& page) {
      page.begin_struct(7);
      page.integer(1, static_cast<int32_t>(dictionary_->count));
      page.integer(2, static_cast<int32_t>(Encoding::kPlain));
      page.end_struct();
    });
  }

  // The rows from `row` on, and the values from `value` on, as far as a page goes; both are moved on.
  Status add_page(size_t& row, size_t& value) {
    const size_t first = row;
    const size_t first_value = value;
    size_t bytes = 0;
    while (row < chunk_.rows && row - first < kPageRows && bytes < kPageBytes) {
      if (column_.has(row)) {
        if (!dictionary_ && spec_.type != ColumnType::kFlag) bytes += value_size(spec_.type, column_, row);
        ++value;
      }
      ++row;
    }
    std::string plain;
    if (spec_.optional) append_levels(first, row, plain);
    append_values(first_value, value, plain);
    ThriftWriter header;
    begin_header(header, PageKind::kData);
    const auto rows = static_cast<int32_t>(row - first);
    return finish_page(header, plain, [this, rows](ThriftWriter& page) {
      page.begin_struct(5);
      page.integer(1, rows);
      page.integer(2, static_cast<int32_t>(dictionary_ ? Encoding::kDictionary : Encoding::kPlain));
      page.integer(3, static_cast<int32_t>(Encoding::kRuns));
      page.integer(4, static_cast<int32_t>(Encoding::kRuns));
      page.end_struct();
    });
  }

  // Which rows have a value, after the number of bytes that this takes.
  void append_levels(size_t first, size_t last, std::string& plain) const {
    std::vector<uint32_t> levels(last - first);
    for (size_t i = 0; i < levels.size(); ++i) levels[i] = column_.has(first + i) ? 1 : 0;
    std::string runs;
    append_runs(levels, 1, runs);
    for (int shift = 0; shift < 32; shift += 8) plain += static_cast<char>(runs.size() >> shift);
    plain += runs;
  }

  void append_values(size_t first, size_t last, std::string& plain) const {
    if (dictionary_) {
      const int bits = bits_for(dictionary_->count - 1);
      plain += static_cast<char>(bits);
      append_runs(first_of(after(std::span<const uint32_t>(dictionary_->places), first), last - first), bits, plain);
      return;
    }
    if (spec_.type == ColumnType::kFlag) {
      std::string bits((last - first + 7) / 8, '\0');
      for (size_t i = first; i < last; ++i) {
        const bool is_set = column_.values[rows_[i]] != std::byte{0};
        if (is_set) bits[(i - first) / 8] = static_cast<char>(bits[(i - first) / 8] | 1 << ((i - first) % 8));
      }
      plain += bits;
      return;
    }
    for (size_t i = first; i < last; ++i) append_value(spec_.type, column_, rows_[i], plain);
  }

  static void begin_header(ThriftWriter& header, PageKind kind) {
    header.begin_struct();
    header.integer(1, static_cast<int32_t>(kind));
  }

  template <class Rest>
  Status finish_page(ThriftWriter& header, std::string_view plain, const Rest& write_rest) {
    if (plain.size() > kLongestPage) return unsupported(concat("column ", quote(spec_.name), ": a page of Parquet holds less than 2 GiB"));
    compressed_.clear();
    TENSORTAP_RETURN_IF_ERROR(compressor_.append(plain, compressed_));
    if (compressed_.size() > kLongestPage)
      return unsupported(concat("column ", quote(spec_.name), ": a page of Parquet holds less than 2 GiB"));
    header.integer(2, static_cast<int32_t>(plain.size()));
    header.integer(3, static_cast<int32_t>(compressed_.size()));
    write_rest(header);
    header.end_struct();
    chunk_.pages += header.bytes();
    chunk_.pages += compressed_;
    chunk_.plain_bytes += header.bytes().size() + plain.size();
    return {};
  }

  const ColumnSpec& spec_;
  const Column& column_;
  PageCompressor& compressor_;
  ColumnChunk chunk_;
  std::vector<uint32_t> rows_;  // that have a value
  std::optional<Dictionary> dictionary_;
  std::string compressed_;
};

}  // namespace

PhysicalType physical_type(ColumnType type) {
  switch (type) {
    case ColumnType::kFlag:
      return PhysicalType::kBoolean;
    case ColumnType::kUInt8:
    case ColumnType::kUInt16:
    case ColumnType::kUInt32:
    case ColumnType::kInt32:
      return PhysicalType::kInt32;
    case ColumnType::kDouble:
      return PhysicalType::kDouble;
    case ColumnType::kText:
    case ColumnType::kBytes:
      return PhysicalType::kByteArray;
    default:
      return PhysicalType::kInt64;
  }
}

PageCompressor::PageCompressor() : context_(ZSTD_createCCtx()) {}
PageCompressor::~PageCompressor() { ZSTD_freeCCtx(context_); }

Status PageCompressor::append(std::string_view plain, std::string& bytes) {
  if (context_ == nullptr) return exhausted("no memory to compress with");
  const size_t before = bytes.size();
  bytes.resize(before + ZSTD_compressBound(plain.size()));
  const size_t size = ZSTD_compressCCtx(context_, bytes.data() + before, bytes.size() - before, plain.data(), plain.size(), kLevel);
  if (ZSTD_isError(size) != 0) return exhausted(concat("zstd: ", ZSTD_getErrorName(size)));
  bytes.resize(before + size);
  return {};
}

Result<ColumnChunk> make_chunk(const ColumnSpec& spec, const Column& column, PageCompressor& compressor) {
  if (spec.type == ColumnType::kSizes) return unsupported(concat("column ", quote(spec.name), ": lists are not written to Parquet"));
  return ChunkMaker(spec, column, compressor).make();
}

}  // namespace tensortap::parquet
