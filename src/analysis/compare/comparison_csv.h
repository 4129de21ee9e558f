// A comparison as a table for spreadsheets and scripts.

#ifndef TENSORTAP_COMPARE_COMPARISON_CSV_H_
#define TENSORTAP_COMPARE_COMPARISON_CSV_H_

#include <cstdint>
#include <string>

#include "compare/dump_comparison.h"

namespace tensortap {

// The columns: our own, or those of msprobe's compare_result, whose A is "NPU" and whose B is "Bench".
enum class CsvStyle : uint8_t { kOwn, kMsprobe };

// Lines end with a line feed. The cell of a missing measure is empty, in msprobe's style "N/A".
std::string csv_header(CsvStyle style);
std::string csv_line(CsvStyle style, const DumpComparison& comparison, const ComparedValue& value);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_COMPARISON_CSV_H_
