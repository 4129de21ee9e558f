// The command `tensortap`.

#include <exception>

#include "cli/child_process.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/cut_file.h"

int main(int argc, char** argv) {
  // A reader that goes away is noticed where standard output is written, so that a dump in the making is finished first.
  tensortap::cli::prepare_process();
  tensortap::cli::report_cut_files();
  try {
    return tensortap::cli::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    tensortap::cli::Terminal().error(error.what());
    return static_cast<int>(tensortap::cli::ExitCode::kFailed);
  }
}
