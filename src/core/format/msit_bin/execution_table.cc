#include "format/msit_bin/execution_table.h"

#include "base/text.h"

namespace tensortap {
namespace {

// Free text as a cell: there are no quotes in these tables, and programs for tables would take some begins for formulas.
std::string cell_of(std::string_view text) {
  std::string cell;
  if (!text.empty() && std::string_view("+-=@%").find(text[0]) != std::string_view::npos) cell += ' ';
  for (const char c : text) cell += c == '|' ? std::string("\\u007c") : c == '\n' || c == '\r' ? std::string(" ") : std::string(1, c);
  return cell;
}

// One text for each tensor, joined.
template <class Text>
std::string joined(const std::vector<ExecutionTensor>& tensors, Text&& text) {
  std::vector<std::string> texts;
  for (const ExecutionTensor& tensor : tensors) texts.push_back(text(tensor));
  return cell_of(join(texts, ";"));
}

void add_side(const std::vector<ExecutionTensor>& tensors, std::vector<std::string>& cells) {
  cells.push_back(to_text(tensors.size()));
  for (const auto member : {&ExecutionTensor::type, &ExecutionTensor::format, &ExecutionTensor::shape}) {
    cells.push_back(joined(tensors, [member](const ExecutionTensor& tensor) { return tensor.*member; }));
  }
}

}  // namespace

std::string execution_row(uint64_t number, const ExecutionRow& row) {
  const auto file = [](const ExecutionTensor& tensor) { return tensor.file; };
  const std::string name = cell_of(row.name);
  std::vector<std::string> cells = {to_text(number), concat(name, number), name, row.parameters.empty() ? "{}" : cell_of(row.parameters)};
  add_side(row.inputs, cells);
  add_side(row.outputs, cells);
  cells.push_back(joined(row.inputs, [](const ExecutionTensor&) { return std::string("customize"); }));
  cells.emplace_back(" ");
  cells.push_back(joined(row.inputs, file));
  cells.push_back(joined(row.outputs, file));
  cells.insert(cells.end(), {" ", " ", " ", " ", "NO_ERROR"});
  return join(cells, "|") + "\n";
}

}  // namespace tensortap
