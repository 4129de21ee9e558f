// Memory that compiled code gives to custom operators to write into.
//
// Code that Inductor made allocates its buffers without an operator, so that nobody sees whether something was written to one. Its text
// says it: which arguments of an operator are buffers that the code has done nothing with.

#ifndef TENSORTAP_SOURCE_PYTORCH_OUTPUT_ARGUMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_OUTPUT_ARGUMENTS_H_

#include <cstdint>
#include <string>

namespace tensortap::pytorch {

// Code that Inductor made runs on this thread until the end, which tells whether an operator ran in it. Calls nest. No lock.
void compiled_code_begins();
bool compiled_code_ends();
bool compiled_code_runs();
void note_operator_in_code();

// What a graph does with the argument of an operator, as "library::name.overload": it gives a new buffer, or one with values. An argument
// counts as an output where all graphs give new buffers. Any thread.
void note_output_argument(const std::string& op, uint32_t slot, bool is_new);
// Bit n: argument n is an output in compiled code. Any thread.
uint64_t output_arguments(const std::string& op, const std::string& overload);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_OUTPUT_ARGUMENTS_H_
