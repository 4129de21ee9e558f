// Rows of records whose values come later (WritesRowsFirst).

#ifndef TENSORTAP_TRACE_WAITING_VALUES_H_
#define TENSORTAP_TRACE_WAITING_VALUES_H_

#include <cstdint>

#include "trace/record_row.h"

namespace tensortap {

// RecordRow::member of a row with kRecordDataLost whose values were captured and have not arrived: they are on their way, or the program
// died before they were written.
inline constexpr uint64_t kValuesOnTheWay = UINT64_MAX;

inline bool waits_for_values(const RecordRow& row) {
  return row.member == kValuesOnTheWay && (row.flags & (kRecordHasData | kRecordDataLost)) == kRecordDataLost;
}

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_WAITING_VALUES_H_
