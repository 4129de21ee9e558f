// Processes of the machine.

#ifndef TENSORTAP_BASE_PROCESS_H_
#define TENSORTAP_BASE_PROCESS_H_

#include <cstdint>

namespace tensortap {

// Whether a process has this number now, somebody else's too; false for 0 and for what no process can be called.
bool process_exists(uint64_t number);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_PROCESS_H_
