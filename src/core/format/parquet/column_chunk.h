// One column of one row group of a Parquet file: its pages as bytes, and what the footer says of them.

#ifndef TENSORTAP_FORMAT_PARQUET_COLUMN_CHUNK_H_
#define TENSORTAP_FORMAT_PARQUET_COLUMN_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/column.h"
#include "base/status.h"

struct ZSTD_CCtx_s;

namespace tensortap::parquet {

// Numbers of the format.
enum class PhysicalType : int32_t { kBoolean = 0, kInt32 = 1, kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum class Encoding : int32_t { kPlain = 0, kRuns = 3, kDictionary = 8 };
inline constexpr int32_t kZstd = 6;

PhysicalType physical_type(ColumnType type);

struct ColumnChunk {
  std::string pages;
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;      // of the pages, before compression, headers included
  uint64_t first_data_page = 0;  // offset in `pages`; the dictionary comes before it
  bool has_dictionary = false;
  uint64_t nulls = 0;
  std::optional<std::string> least;  // as PLAIN has a value, without the length of a text; nothing where it is not known
  std::optional<std::string> most;
};

// Compresses pages; one after the other.
class PageCompressor {
 public:
  PageCompressor();
  ~PageCompressor();
  PageCompressor(const PageCompressor&) = delete;
  PageCompressor& operator=(const PageCompressor&) = delete;
  // Appends `plain`. Errors: kExhausted when there is no memory.
  Status append(std::string_view plain, std::string& bytes);

 private:
  ZSTD_CCtx_s* context_;
};

// The chunk of a column. Errors: kUnsupported for lists and for a text of 2 GiB; those of the compressor.
Result<ColumnChunk> make_chunk(const ColumnSpec& spec, const Column& column, PageCompressor& compressor);

}  // namespace tensortap::parquet

#endif  // TENSORTAP_FORMAT_PARQUET_COLUMN_CHUNK_H_
