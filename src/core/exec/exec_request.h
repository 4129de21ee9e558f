// What `tensortap exec` asks of the processes that it starts: read once per process, from the file that TENSORTAP_EXEC names.
//
// The file is a JSON object with the members of ExecRequest below. The folder that holds it belongs to one `tensortap exec`, which removes
// it when its program has ended; the processes of that program decide in it who writes where.

#ifndef TENSORTAP_EXEC_EXEC_REQUEST_H_
#define TENSORTAP_EXEC_EXEC_REQUEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

struct ExecRequest {
  std::string config;                 // text of the native config language, with the folder to write into
  std::string config_name;            // what to call it in messages
  std::string out;                    // folder of the whole dump; a process writes into process_folder()
  std::string program;                // the command in words
  std::vector<std::string> adapters;  // folders to look for adapters in, first wins
  std::string python_package;         // folder that holds the package `tensortap` for processes with an interpreter, "" = none
  std::string compile = "inductor";   // how torch.compile is treated: "eager", "aot", "inductor" (as it is), "inductor-kernels" or -nodes
  std::string names = "own";          // what ggml's modules are called: "own", as GGUF files do, "transformers"
  bool workers = false;               // also capture the workers of a DataLoader
  bool shared_tree = false;           // the layout is one tree for all processes
  bool content_cache = true;          // believe that memory which no operator wrote is unchanged
  std::string marks;                  // the folder that holds the file; not part of it
};

// Nothing when the variable is not set; a message on stderr and nothing when the file cannot be read.
std::optional<ExecRequest> read_exec_request();

// The request in the JSON text of a file called `name`. Errors: kInvalidArgument for what is not written by `tensortap exec`.
Result<ExecRequest> parse_exec_request(std::string_view text, std::string_view name);

// What configs call the program where they name a model: "train" of "python -u code/train.py --lr 1".
std::string model_of_program(std::string_view program);

// The folder to open the session of this process with; a session of a job with ranks adds rank_N itself. `out` for the first process
// without a rank and for the first of each rank, out/process_PID for any other: further processes of a rank, children, what the same
// process becomes by execve(). To be called when the process begins to capture, so that a launcher that runs no operator does not take the
// place. Each call claims another folder, by creating a file in request.marks: exactly one of several processes gets each. Creates nothing
// else.
std::string process_folder(const ExecRequest& request);

// The folder for another model of the process that writes into `process`, which it got from process_folder() or which is request.out:
// model_NAME in it, with "-2" and so on where the rank, or the process, has one of that name already. Of `name` only letters, digits, '.',
// '_' and '-' are kept. Each call claims another folder and creates nothing but its mark.
std::string model_folder(const ExecRequest& request, const std::string& process, std::string_view name);

// The config of the request with the folder to write into. Errors: kInvalidArgument for what is not written by `tensortap exec`.
Result<std::string> config_with_folder(const ExecRequest& request, const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_EXEC_EXEC_REQUEST_H_
