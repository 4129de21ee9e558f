// DataPlace: where a layout keeps the elements of a record.

#ifndef TENSORTAP_LAYOUT_DATA_PLACE_H_
#define TENSORTAP_LAYOUT_DATA_PLACE_H_

#include <cstdint>

#include "trace/record_row.h"

namespace tensortap {

// Where the data of a record lies: those columns of its row.
struct DataPlace {
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
  uint64_t member = 0;
  uint16_t data_header = 0;
  uint8_t flags = 0;  // kRecordHasData, kRecordRaw

  static DataPlace of(const RecordRow& row) {
    return {row.data_offset, row.data_bytes, row.member, row.data_header, static_cast<uint8_t>(row.flags & (kRecordHasData | kRecordRaw))};
  }
  void put_into(RecordRow& row) const {
    row.data_offset = data_offset;
    row.data_bytes = data_bytes;
    row.member = member;
    row.data_header = data_header;
    row.flags |= flags;
  }
};

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_DATA_PLACE_H_
