// Arrow's file format (also called Feather 2): record batches that readers map, and a footer that says where they lie.
// docs/formats/arrow.md.

#ifndef TENSORTAP_FORMAT_ARROW_ARROW_FILE_WRITER_H_
#define TENSORTAP_FORMAT_ARROW_ARROW_FILE_WRITER_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "base/status.h"

namespace tensortap {

// The bytes are the same whenever the values are. Thread-compatible.
class ArrowFileWriter {
 public:
  using Write = std::function<Status(std::string_view bytes)>;

  // `write` takes the bytes of the file in their order.
  ArrowFileWriter(std::vector<ColumnSpec> columns, Write write) : columns_(std::move(columns)), write_(std::move(write)) {}

  // Adds a record batch: a column for each of the file's, all with the same number of rows. Errors: kExhausted when the texts of a column
  // are more than 2 GiB; those of `write`. The file is lost then.
  Status add(std::vector<Column> columns);
  // Writes the end. Nothing is added afterwards.
  Status finish();

 private:
  struct Block {
    uint64_t offset = 0;
    uint64_t metadata_bytes = 0;
    uint64_t body_bytes = 0;
  };
  Status begin();
  Status put(std::string_view bytes);
  Status put_metadata(std::string_view flat_buffer, uint64_t& bytes);

  std::vector<ColumnSpec> columns_;
  Write write_;
  std::vector<Block> blocks_;
  uint64_t size_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ARROW_ARROW_FILE_WRITER_H_
