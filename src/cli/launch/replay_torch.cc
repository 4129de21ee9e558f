#include "cli/launch/replay_torch.h"

#include "cli/launch/child_process.h"
#include "cli/launch/installed_files.h"
#include "cli/launch/program_file.h"

namespace tensortap::cli {
namespace {

// The package comes last, so that torch and NumPy are the interpreter's own.
constexpr const char* kStartReplay =
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); sys.argv[0] = 'replay'; "
    "runpy.run_module('tensortap._replay', run_name='__main__')";

}  // namespace

Result<ExitCode> replay_torch(const std::vector<std::string>& arguments, const std::string& python) {
  TENSORTAP_ASSIGN_OR_RETURN(const InstalledFiles files, find_installed_files());
  if (files.python_package.empty()) return not_found("the Python package is not installed with this tensortap: pip install tensortap");
  const std::string name = python.empty() ? "python3" : python;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string path, find_program(name));
  std::vector<std::string> words = {name, "-c", kStartReplay, files.python_package};
  words.insert(words.end(), arguments.begin(), arguments.end());
  TENSORTAP_ASSIGN_OR_RETURN(const ProgramEnd end, run_program(path, words, {}));
  return static_cast<ExitCode>(end.exit_code);
}

}  // namespace tensortap::cli
