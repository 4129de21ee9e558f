// What msit takes as the values of its options: each check gives the value the form of the config language. Errors: kInvalidArgument with
// msit's words.

#ifndef TENSORTAP_CLI_LLM_LLM_VALUES_H_
#define TENSORTAP_CLI_LLM_LLM_VALUES_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap::cli::llm_values {

// As Python shows a text in a message: 'text'.
std::string shown(std::string_view text);

Status check_ids(std::string& value);
Status check_rounds(std::string& value);
Status check_yes(std::string& value);     // becomes "true" or "false"
Status check_time(std::string& value);    // 0 to 3
Status check_part(std::string& value);    // 0 to 2
Status check_safe(std::string& value);    // only characters that msit regards as harmless
Status check_type(std::string& value);    // one word
Status check_device(std::string& value);  //
Status check_seed(std::string& value);    // what Python takes as PYTHONHASHSEED
Status check_log_level(std::string& value);

}  // namespace tensortap::cli::llm_values

#endif  // TENSORTAP_CLI_LLM_LLM_VALUES_H_
