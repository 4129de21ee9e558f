// Which code objects are the program's own, and which line of which file each of their instructions belongs to.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_LINES_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_LINES_H_

#include <string>
#include <vector>

#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/python/source_folders.h"

namespace tensortap::pytorch {

// Where this did not happen before the first resolve_code(), foreign_code_of_interpreter() counts until it does.
void set_foreign_code(ForeignCode foreign);
// Whether a file, as Python names it, has the code that makes the text of a tensor.
bool is_printer_file(const std::string& file);
// Whether a file, as Python names it, belongs to the program.
bool is_program_file(const std::string& given, const ForeignCode& foreign);
// The file as it is said: relative where it lies in the folder.
std::string shown_file(const std::string& given, const std::string& folder);

// kPrinter: foreign code that makes the text of a tensor, for print() and for the text of messages.
enum class CodeOwner { kUnknown, kForeign, kPrinter, kProgram };
// Any thread, no lock. kUnknown until resolve_code() saw it.
CodeOwner code_owner(const void* code);
// With the GIL: looks at a code object, once, and keeps a reference to it from then on, so that its address stays its own.
// kUnknown when there are too many.
CodeOwner resolve_code(const void* code);
// One line of a code object that torch made: the program's own code that it comes from.
struct ToldLine {
  int line = 0;
  std::string source;  // "train.py:41"
  ModuleId module = 0;
};
// With the GIL: says where the lines of such a code object come from, and keeps a reference to it. It counts as the program's from then on.
void describe_code(const void* code, std::vector<ToldLine> lines);

// "train.py:41", "" for code that is not the program's or not resolved. Any thread, no lock, no GIL.
std::string line_text(SourcePosition position);
// What describe_code() said of the line, 0 for any other. Any thread, no lock.
ModuleId told_module(SourcePosition position);
// A file as line_text() would say it, "" for one that is not the program's.
std::string program_file(const std::string& file);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_LINES_H_
