// Tables of text for people.

#ifndef TENSORTAP_CLI_TABLE_H_
#define TENSORTAP_CLI_TABLE_H_

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace tensortap::cli {

struct Column {
  std::string title;
  bool right = false;       // aligned to the right: numbers
  bool may_shrink = false;  // names: shortened in the middle where the terminal is too narrow
  size_t least = 8;         // characters that are left of one that may shrink
  bool keeps_end = false;   // shortened at the beginning instead: names of ops, which differ at their ends
};

// Prints rows as they come: the first thousand decide how wide the columns are, so that a million rows need no memory. If the whole is
// wider than the terminal, columns that may shrink do so, widest first. A row has one cell for each column.
class TablePrinter {
 public:
  TablePrinter(Terminal& terminal, std::vector<Column> columns);
  void add(std::vector<std::string> cells);
  void finish();  // after the last row

 private:
  void fit();
  [[nodiscard]] std::string shortened(const std::string& cell, size_t column) const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells) const;

  Terminal& terminal_;
  std::vector<Column> columns_;
  std::vector<size_t> widths_;  // empty until the columns are fitted
  std::vector<std::vector<std::string>> waiting_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TABLE_H_
