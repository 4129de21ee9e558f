// The program that `tensortap exec` is to start: the file behind the word, what interprets it, and whether it can be captured at all.

#ifndef TENSORTAP_CLI_LAUNCH_PROGRAM_FILE_H_
#define TENSORTAP_CLI_LAUNCH_PROGRAM_FILE_H_

#include <optional>
#include <string>

#include "base/status.h"

namespace tensortap::cli {

// The executable file that `word` means: itself when it has a "/", otherwise the first on PATH. Errors: kNotFound, kInvalidArgument for
// what cannot be executed.
Result<std::string> find_program(const std::string& word);

// The file that the kernel runs for `path`: the file itself, or the interpreter in the first line of a script, `/usr/bin/env NAME` followed
// to NAME. Errors: kNotFound for an interpreter that does not exist.
Result<std::string> interpreter_of(const std::string& path);

// Why nothing can be preloaded into the ELF file `path`: a static program, one with other rights, one for another processor. kUnsupported
// with the reason and what to do instead.
Status check_preloadable(const std::string& path);

// Whether the file is a Python interpreter, judged by its name (python, python3, python3.13t, ...).
bool is_python(const std::string& path);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_PROGRAM_FILE_H_
