// What `tensortap exec` asks of the processes that it starts: read once per process, from the file that TENSORTAP_EXEC names.

#ifndef TENSORTAP_SOURCE_PYTORCH_EXEC_REQUEST_H_
#define TENSORTAP_SOURCE_PYTORCH_EXEC_REQUEST_H_

#include <optional>
#include <string>
#include <vector>

namespace tensortap {

struct ExecRequest {
  std::string config;                 // text of the native config language, with the folder to write into
  std::string config_name;            // what to call it in messages
  std::string out;                    // folder of the whole dump; a process writes into process_folder()
  std::string program;                // the command in words
  std::vector<std::string> adapters;  // folders to look for adapters in, first wins
  std::string python_package;         // folder that holds the package `tensortap` for processes with an interpreter, "" = none
  std::string compile = "inductor";   // what becomes of torch.compile: "eager", "aot" or "inductor" (as it is)
  bool workers = false;               // capture the workers of a DataLoader, too
  bool content_cache = true;          // believe that memory which no operator wrote is unchanged
};

// Nothing when the variable is not set; a message on stderr, once, and nothing, when the file can not be read.
std::optional<ExecRequest> read_exec_request();

// Number of this process among the ranks of its job, from RANK and WORLD_SIZE; {0, 1} when alone.
struct JobRank {
  int rank = 0;
  int world_size = 1;
};
JobRank job_rank();

// Where this process writes: `out` for the first process of a job without ranks, out/rank_N with ranks (out/rank_N.PID for a further
// process of that rank), out/process_PID for the others. Creates nothing but the mark that decides who is first.
std::string process_folder(const ExecRequest& request);

}  // namespace tensortap

#endif  // TENSORTAP_SOURCE_PYTORCH_EXEC_REQUEST_H_
