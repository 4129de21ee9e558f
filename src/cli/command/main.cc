// The command `tensortap`.

#include <exception>

#include "cli/command/command.h"
#include "cli/command/command_line.h"
#include "cli/files/cut_file.h"
#include "cli/launch/child_process.h"

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
