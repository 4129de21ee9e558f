// Processes of the machine.

#ifndef TENSORTAP_BASE_PROCESS_H_
#define TENSORTAP_BASE_PROCESS_H_

#include <cstdint>
#include <string_view>

namespace tensortap {

// Prints "tensortap: TEXT" and a line break on stderr by one write, so that lines of several processes stay whole. A failure has no effect.
void say(std::string_view text);

// Whether a process has this number now, somebody else's too; false for 0 and for what no process can be called.
bool process_exists(uint64_t number);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_PROCESS_H_
