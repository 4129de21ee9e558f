// Columns in Arrow's memory layout, which its C data interface and its files share.

#ifndef TENSORTAP_FORMAT_ARROW_ARROW_BUFFERS_H_
#define TENSORTAP_FORMAT_ARROW_ARROW_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "base/status.h"

namespace tensortap {

// The buffers of one array. A list has two arrays: the list itself and its child.
struct ArrowBuffers {
  uint64_t length = 0;
  uint64_t nulls = 0;
  std::vector<std::vector<std::byte>> buffers;  // the first has a bit for each row: 1 = it has a value; empty = all have
  std::vector<ArrowBuffers> children;
};

// "u", "g", "+l": the format of a type in the C data interface.
std::string_view arrow_format(ColumnType type);

// Takes the values of a column. Errors: kExhausted when its texts are more than 2 GiB.
Result<ArrowBuffers> arrow_buffers(ColumnType type, Column column);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ARROW_ARROW_BUFFERS_H_
