// Tables of statistics in the trees of other systems: one description of each column, for writing and for reading.

#ifndef TENSORTAP_TREE_STATISTICS_TABLE_H_
#define TENSORTAP_TREE_STATISTICS_TABLE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tensor/digest_text.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"
#include "trace/record_row.h"
#include "tree/problems.h"

namespace tensortap {

// Digests of one tensor; kind kNone = unknown.
struct StatisticDigests {
  Digest md5;
  Digest sha1;
};

// The values of a row to write. Borrowed for the call.
struct StatisticRow {
  std::string_view op_cells =
      "";  // "Add,Default/Add-op0,": type and name, clean, each with its comma; "" where the table has no such columns
  uint64_t time_us = 0;
  bool is_input = false;
  uint32_t slot = 0;
  const RecordRow* record = nullptr;
  const StatisticDigests* digests = nullptr;
  bool finite_only = false;  // NaN and Inf are left out of all values
  uint64_t task = 0;
  uint64_t stream = 0;
};

// One row as read. The views lead into the text.
struct StatisticLine {
  std::string_view op_type;
  std::string_view op_name;
  uint64_t time = 0;
  uint64_t bytes = 0;
  uint32_t slot = 0;
  int32_t format = 2;  // number of AscendCL's data format
  bool is_input = false;
  TensorDesc desc;  // kUndefined for an unknown type
  TensorStats stats;
  std::array<uint8_t, 20> digest{};
  uint8_t digest_kind = 0;  // DigestKind; MD5 goes before SHA-1
};

struct StatisticColumn {
  std::string_view header = "";
  std::string_view word = "";  // in configs; "" for columns that are always there
  uint32_t needs = 0;          // Stat bits to measure
  DigestKind digest = DigestKind::kNone;
  bool required = false;  // a table without this column is not read
  // Appends the cell; nothing for what was not measured. Null for columns that their system writes itself.
  void (*write)(const StatisticRow& row, std::string& text) = nullptr;
  // Sets the Stat bits that it read. False: the row is skipped and reported. Null: the column is skipped.
  bool (*read)(std::string_view cell, StatisticLine& line) = nullptr;
};

// The columns of one table in their order. Immutable. Thread-safe.
class ChosenColumns {
 public:
  // `first` is the header of the cells that every row begins with. `columns` outlive this.
  ChosenColumns(std::string_view first, std::vector<const StatisticColumn*> columns, bool trailing_comma);

  [[nodiscard]] const std::string& header() const { return header_; }  // with its line end
  [[nodiscard]] bool has(DigestKind digest) const;
  // Appends the cells, each after a comma, and the line end.
  void append_cells(const StatisticRow& row, std::string& text) const;

 private:
  std::vector<const StatisticColumn*> columns_;
  std::string header_;
  bool trailing_comma_;
};

// As printf's %g prints it in the C locale: six digits, "inf", "nan" with its sign.
void append_six_digits(double number, std::string& text);
// The bytes of a digest as lower-case hexadecimal digits.
void append_hex(const Digest& digest, std::string& text);

// Cells that all systems write alike. A function returns false if it cannot read its cell.
bool read_slot(std::string_view cell, uint32_t& slot);
// Words for NaN and infinities with or without a sign, or a number.
bool read_float(std::string_view cell, double& value);
bool read_hex(std::string_view cell, DigestKind kind, StatisticLine& line);

// Reads the rows of a table from untrusted text. Rows that cannot be read are reported with `name` and their line; unknown columns are
// skipped. The callback, if any, may complete the cells of a row for a header of so many columns.
std::vector<StatisticLine> read_statistics(std::string_view text, std::span<const StatisticColumn> columns, std::string_view name,
                                           TreeProblems& problems,
                                           void (*mend)(std::vector<std::string_view>& cells, size_t columns) = nullptr);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_STATISTICS_TABLE_H_
