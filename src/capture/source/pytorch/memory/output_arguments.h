// Memory that compiled code gives to custom operators to write into.
//
// Code that Inductor made allocates its buffers without an operator, so the capture does not see whether something was written to them. The
// text of the code shows it: it names the arguments of an operator that are buffers with which the code has done nothing.

#ifndef TENSORTAP_SOURCE_PYTORCH_MEMORY_OUTPUT_ARGUMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_MEMORY_OUTPUT_ARGUMENTS_H_

#include <cstdint>
#include <string>

namespace tensortap::pytorch {

// Code that Inductor made begins and ends on this thread; the end returns whether an operator ran in it. Calls nest. No lock.
void compiled_code_begins();
bool compiled_code_ends();
bool compiled_code_runs();
void note_operator_in_code();
// The same for code whose kernels are all reported: nothing runs unseen between its operators.
// `root`: the number of the module that it was compiled for. The result goes to the end.
uint32_t reported_code_begins(uint32_t root);
void reported_code_ends(uint32_t before);
bool reported_code_runs();
uint32_t reported_code_root();

// Notes what a graph passes as this argument of an operator, "library::name.overload": a new buffer, or one with values. An argument counts
// as an output if all graphs pass new buffers. Any thread.
void note_output_argument(const std::string& op, uint32_t slot, bool is_new);
// Bit n: argument n is an output in compiled code. Any thread.
uint64_t output_arguments(const std::string& op, const std::string& overload);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MEMORY_OUTPUT_ARGUMENTS_H_
