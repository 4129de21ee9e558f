#include "source/pytorch/python/source_lines.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "python/python_api.h"
#include "source/pytorch/python/pointer_table.h"
#include "source/pytorch/python/program_text.h"

namespace tensortap::pytorch {
namespace {

struct LineRange {
  int begin;
  int end;
  int line;
};

struct ProgramCode {
  std::string file;
  std::vector<LineRange> lines;  // sorted by begin
  bool is_told = false;
  std::vector<ToldLine> told;  // sorted by line
};

constexpr size_t kMostCodes = 1u << 16;
constexpr uint32_t kForeignNumber = 1;
constexpr uint32_t kPrinterNumber = 2;  // numbers from 3 on are those of program codes
constexpr uint32_t kFirstProgram = 3;

constinit PointerTable owners{kMostCodes};
constinit std::array<std::atomic<const ProgramCode*>, kMostCodes> programs{};
constinit std::mutex resolving;
constinit uint32_t program_count = 0;
constinit const ForeignCode* foreign_code = nullptr;

// Without "//", "/./" and "/../": a folder on PYTHONPATH may be written in any way, and Python keeps it so in the names of files.
std::string plain_path(const std::string& path) {
  if (!path.starts_with('/')) return path;
  std::string plain = std::filesystem::path(path).lexically_normal().string();
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

bool is_below(const std::string& file, const std::string& folder) {
  return !folder.empty() && file.starts_with(folder) && (file.size() == folder.size() || file[folder.size()] == '/');
}

std::string utf8_text_of(PyObject* object) {
  ptrdiff_t size = 0;
  const char* const text = object == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? std::string() : std::string(text, static_cast<size_t>(size));
}

int int_of(PyObject* tuple, ptrdiff_t index, int otherwise) {
  PyObject* const item = PyTuple_GetItem(tuple, index);
  if (item == nullptr || item == &_Py_NoneStruct) {
    PyErr_Clear();
    return otherwise;
  }
  return static_cast<int>(PyLong_AsLong(item));
}

// What code.co_lines() yields: (begin, end, line or None).
std::vector<LineRange> lines_of(PyObject* code) {
  std::vector<LineRange> lines;
  const PythonReference method(PyObject_GetAttrString(code, "co_lines"));
  const PythonReference table(method ? PyObject_CallFunctionObjArgs(method.get(), nullptr) : nullptr);
  const PythonReference iterator(table ? PyObject_GetIter(table.get()) : nullptr);
  while (iterator) {
    const PythonReference row(PyIter_Next(iterator.get()));
    if (!row) break;
    lines.push_back({int_of(row.get(), 0, 0), int_of(row.get(), 1, 0), int_of(row.get(), 2, 0)});
  }
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  std::ranges::stable_sort(lines, {}, &LineRange::begin);
  return lines;
}

std::string current_folder() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) == nullptr ? std::string() : std::string(path);
}

// How much of the file's path the longest of the folders that hold it covers; 0 when none does.
size_t longest(const std::string& file, const std::vector<std::string>& folders) {
  size_t most = 0;
  for (const std::string& one : folders) {
    const std::string folder = plain_path(one);
    if (is_below(file, folder)) most = std::max(most, folder.size());
  }
  return most;
}

int line_of(const ProgramCode& code, int offset) {
  const auto after = std::ranges::upper_bound(code.lines, offset, {}, &LineRange::begin);
  if (after == code.lines.begin()) return 0;
  const LineRange& range = *std::prev(after);
  return offset < range.end ? range.line : 0;
}

const ToldLine* told_line(const ProgramCode& code, int offset) {
  const int line = line_of(code, offset);
  const auto told = std::ranges::lower_bound(code.told, line, {}, &ToldLine::line);
  return told != code.told.end() && told->line == line ? &*told : nullptr;
}

const ProgramCode* program_code(const void* code) {
  const uint32_t number = owners.find(code);
  return number < kFirstProgram ? nullptr : programs[number - kFirstProgram].load(std::memory_order_acquire);
}

CodeOwner owner_of(uint32_t number) {
  if (number == 0) return CodeOwner::kUnknown;
  if (number >= kFirstProgram) return CodeOwner::kProgram;
  return number == kPrinterNumber ? CodeOwner::kPrinter : CodeOwner::kForeign;
}

// Gives the code object a number, if it has none, and keeps it; without a `program` the number is `foreign`.
CodeOwner keep(PyObject* object, std::unique_ptr<const ProgramCode> program, uint32_t foreign = kForeignNumber) {
  const std::lock_guard lock(resolving);
  if (const CodeOwner known = owner_of(owners.find(object)); known != CodeOwner::kUnknown) return known;
  if (program_count + kFirstProgram >= kMostCodes) return CodeOwner::kUnknown;
  const uint32_t number = program ? program_count + kFirstProgram : foreign;
  if (program) programs[program_count].store(program.get(), std::memory_order_release);
  if (!owners.set(object, number)) return CodeOwner::kUnknown;
  if (program) ++program_count;
  static_cast<void>(program.release());  // stays: readers take no lock
  Py_IncRef(object);
  return owner_of(number);
}

// Inductor names a file of code after its hash, in a folder that is named after the hash, too; engines keep such folders where they like.
bool is_made_by_inductor(std::string_view file) {
  constexpr size_t kHash = 52;  // "c" and 51 signs of a SHA-256 in base 32, which has a to z and 2 to 7
  constexpr std::string_view kEnd = ".py";
  if (!file.ends_with(kEnd)) return false;
  file.remove_suffix(kEnd.size());
  const size_t slash = file.rfind('/');
  if (slash == std::string_view::npos || slash < 3 || file[slash - 3] != '/') return false;
  const std::string_view name = file.substr(slash + 1);
  const auto is_sign = [](char sign) { return (sign >= 'a' && sign <= 'z') || (sign >= '2' && sign <= '7'); };
  return name.size() == kHash && std::ranges::all_of(name, is_sign) && file.substr(slash - 2, 2) == name.substr(1, 2);
}

}  // namespace

void set_foreign_code(ForeignCode foreign) { foreign_code = new ForeignCode(std::move(foreign)); }

bool is_printer_file(const std::string& file) { return file.ends_with("/torch/_tensor_str.py"); }

bool is_program_file(const std::string& given, const ForeignCode& foreign) {
  if (given.empty()) return false;
  const std::string file = plain_path(given);
  // Frozen modules, and code that torch makes; <string>, <stdin> and notebook cells are the program's.
  for (const std::string_view made : {"<frozen ", "<eval_with_key>", "<torch", "<__array_function__", "<attrs "})
    if (file.starts_with(made)) return false;
  if (file.find("/torchinductor_") != std::string::npos || is_made_by_inductor(file)) return false;
  if (file.ends_with("/vllm/_custom_ops.py")) return false;  // a function for each operator: who calls it tells more
  const size_t foreign_part = longest(file, foreign.folders);
  return foreign_part == 0 || longest(file, foreign.except) > foreign_part;
}

std::string shown_file(const std::string& given, const std::string& folder) {
  const std::string file = plain_path(given);
  if (file.starts_with("./")) return file.substr(2);
  return file.size() > folder.size() && is_below(file, folder) ? file.substr(folder.size() + 1) : file;
}

CodeOwner code_owner(const void* code) { return owner_of(owners.find(code)); }

CodeOwner resolve_code(const void* code) {
  if (const CodeOwner known = code_owner(code); known != CodeOwner::kUnknown) return known;
  if (foreign_code == nullptr) {
    if (auto found = foreign_code_of_interpreter()) set_foreign_code(*std::move(found));
  }
  if (owners.size() >= kMostCodes || foreign_code == nullptr) return CodeOwner::kUnknown;
  auto* const object = static_cast<PyObject*>(const_cast<void*>(code));
  const PythonReference name(PyObject_GetAttrString(object, "co_filename"));
  const std::string file = utf8_text_of(name.get());
  // All that may run Python code comes before the lock: it may hand the GIL to a thread that waits for the lock.
  std::unique_ptr<const ProgramCode> program;
  if (std::string shown = program_file(file); !shown.empty())
    program = std::make_unique<const ProgramCode>(ProgramCode{std::move(shown), lines_of(object), false, {}});
  return keep(object, std::move(program), is_printer_file(file) ? kPrinterNumber : kForeignNumber);
}

void describe_code(const void* code, std::vector<ToldLine> lines) {
  auto* const object = static_cast<PyObject*>(const_cast<void*>(code));
  std::ranges::stable_sort(lines, {}, &ToldLine::line);
  keep(object, std::make_unique<const ProgramCode>(ProgramCode{{}, lines_of(object), true, std::move(lines)}));
}

std::string line_text(SourcePosition position) {
  const ProgramCode* const code = program_code(position.code);
  if (code == nullptr) return {};
  if (code->is_told) {
    const ToldLine* const told = told_line(*code, position.offset);
    return told == nullptr ? std::string() : told->source;
  }
  const int line = line_of(*code, position.offset);
  return line > 0 ? code->file + ":" + std::to_string(line) : code->file;
}

ModuleId told_module(SourcePosition position) {
  const ProgramCode* const code = program_code(position.code);
  const ToldLine* const told = code == nullptr || !code->is_told ? nullptr : told_line(*code, position.offset);
  return told == nullptr ? 0 : told->module;
}

std::string program_file(const std::string& file) {
  if (foreign_code == nullptr || !is_program_file(file, *foreign_code)) return {};
  std::string shown = shown_file(file, current_folder());
  note_program_file(shown, file);
  return shown;
}

}  // namespace tensortap::pytorch
