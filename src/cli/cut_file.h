// A mapped file that somebody cuts while it is read ends a process with SIGBUS, without a word. The command says which file it was and
// exits with 3.

#ifndef TENSORTAP_CLI_CUT_FILE_H_
#define TENSORTAP_CLI_CUT_FILE_H_

namespace tensortap::cli {

// Once, after prepare_process() and before files are read. Faults that are not of a mapped file do what they did before.
void report_cut_files();

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_CUT_FILE_H_
