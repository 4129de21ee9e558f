// Tables of text for people.

#ifndef TENSORTAP_CLI_TEXT_TABLE_H_
#define TENSORTAP_CLI_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/text/terminal.h"

namespace tensortap::cli {

struct Column {
  std::string title;
  bool right = false;       // aligned to the right: numbers
  bool may_shrink = false;  // names: shortened in the middle where the terminal is too narrow
  size_t least = 8;         // characters that are left of one that may shrink
  bool keeps_end = false;   // shortened at the beginning instead: names of ops, which differ at their ends
  size_t width = 0;         // at least this wide, where the terminal has room
};

// The form of a table without a terminal.
enum class InPipe : uint8_t { kColumns, kTabs };  // as on a terminal; or a tab between two cells, for other programs

// Prints rows as they come: the first thousand decide how wide the columns are, so that a million rows need no memory. If the whole is
// wider than the terminal, columns that may shrink do so, widest first. A row has one cell for each column.
class TablePrinter {
 public:
  TablePrinter(Terminal& terminal, std::vector<Column> columns, InPipe in_pipe = InPipe::kColumns);
  void add(std::vector<std::string> cells);
  void finish();  // after the last row

 private:
  void fit();
  [[nodiscard]] std::string shortened(const std::string& cell, size_t column) const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells) const;

  Terminal& terminal_;
  bool has_tabs_;
  std::vector<Column> columns_;
  std::vector<size_t> widths_;  // empty until the columns are fitted
  std::vector<std::vector<std::string>> waiting_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_TABLE_H_
