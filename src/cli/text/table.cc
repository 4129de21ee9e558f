#include "cli/text/table.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kRowsToFit = 1000;

}  // namespace

TablePrinter::TablePrinter(Terminal& terminal, std::vector<Column> columns, InPipe in_pipe)
    : terminal_(terminal), has_tabs_(in_pipe == InPipe::kTabs && terminal.width() == 0), columns_(std::move(columns)) {}

void TablePrinter::add(std::vector<std::string> cells) {
  if (!widths_.empty()) {
    terminal_.line(line_of(cells));
    return;
  }
  waiting_.push_back(std::move(cells));
  if (waiting_.size() == kRowsToFit) finish();
}

void TablePrinter::finish() {
  if (!widths_.empty()) return;
  fit();
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  terminal_.line(terminal_.out_palette().bold(line_of(titles)));
  for (const auto& cells : waiting_) terminal_.line(line_of(cells));
  waiting_.clear();
}

void TablePrinter::fit() {
  for (const Column& column : columns_) widths_.push_back(std::max(text_width(column.title), column.width));
  for (const auto& cells : waiting_) {
    for (size_t i = 0; i < widths_.size(); ++i) widths_[i] = std::max(widths_[i], text_width(cells[i]));
  }
  if (terminal_.width() == 0) return;
  size_t total = kGap.size() * (columns_.size() - 1);
  for (const size_t width : widths_) total += width;
  for (; total > terminal_.width(); --total) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool candidate = columns_[i].may_shrink && widths_[i] > columns_[i].least;
      if (candidate && (widest == columns_.size() || widths_[i] > widths_[widest])) widest = i;
    }
    if (widest == columns_.size()) return;
    --widths_[widest];
  }
}

std::string TablePrinter::shortened(const std::string& cell, size_t column) const {
  return columns_[column].keeps_end ? shorten_start(cell, widths_[column]) : shorten_middle(cell, widths_[column]);
}

std::string TablePrinter::line_of(const std::vector<std::string>& cells) const {
  if (has_tabs_) return join(cells, "\t");
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) line += kGap;
    const std::string cell = columns_[i].may_shrink && terminal_.width() > 0 ? shortened(cells[i], i) : cells[i];
    const std::string space(widths_[i] - std::min(widths_[i], text_width(cell)), ' ');
    line += columns_[i].right ? space + cell : cell + space;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tensortap::cli
