// The checks of `llm dump` before it starts a program: the folder of the dump, its disk, the config. A problem that ends msit with 1 is an
// error here; owners and modes that msit refuses are only a warning.

#ifndef TENSORTAP_CLI_LLM_LLM_CHECKS_H_
#define TENSORTAP_CLI_LLM_LLM_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

// Checks that the folder `output` exists or may be made. `warnings`: who else could change its contents. Errors: kInvalidArgument for a
// file, for characters that readers of such dumps do not accept, and for a folder that cannot be written.
Status check_output_folder(const std::string& output, std::vector<std::string>& warnings);

// Errors: kExhausted, in msit's words, when the disk of the folder has less than `least` bytes free.
Status check_disk_room(const std::string& output, uint64_t least = uint64_t{2} << 30);

// The text of a config. Errors: kInvalidArgument, kIo for a path that is not a regular file or cannot be read.
Result<std::string> read_llm_config(const std::string& path);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LLM_LLM_CHECKS_H_
