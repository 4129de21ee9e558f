// The structures of the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html), which is stable: how programs
// hand tables to one another without a library of Arrow's.

#ifndef TENSORTAP_FORMAT_ARROW_C_DATA_H_
#define TENSORTAP_FORMAT_ARROW_C_DATA_H_

#include <cstdint>

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

namespace tensortap {

inline constexpr int64_t kArrowNullable = 2;  // ArrowSchema::flags

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ARROW_C_DATA_H_
