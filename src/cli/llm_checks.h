// What `llm dump` looks at before it starts a program: the folder of the dump, its disk, the config. What msit ends with 1 for is an error
// here; what it refuses of owners and modes is a warning.

#ifndef TENSORTAP_CLI_LLM_CHECKS_H_
#define TENSORTAP_CLI_LLM_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

// The folder `output` may be made in, or is there. `warnings`: who else could change what is in it. Errors: kInvalidArgument for a file,
// for characters that readers of such dumps do not take, and for a folder that can not be written.
Status check_output_folder(const std::string& output, std::vector<std::string>& warnings);

// Errors: kExhausted, in msit's words, when the disk of the folder has less than `least` bytes free.
Status check_disk_room(const std::string& output, uint64_t least = uint64_t{2} << 30);

// The text of a config. Errors: kInvalidArgument, kIo for what is no regular file or can not be read.
Result<std::string> read_llm_config(const std::string& path);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LLM_CHECKS_H_
