// If another program cuts a mapped file while we read it, SIGBUS would end our process without a word. The command names the file and exits
// with 3 instead.

#ifndef TENSORTAP_CLI_FILES_CUT_FILE_H_
#define TENSORTAP_CLI_FILES_CUT_FILE_H_

namespace tensortap::cli {

// Call once, after prepare_process() and before files are read. Other faults have the same effect as before.
void report_cut_files();

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_CUT_FILE_H_
