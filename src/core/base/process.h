// Processes of the machine.

#ifndef TENSORTAP_BASE_PROCESS_H_
#define TENSORTAP_BASE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tensortap {

// Whether a process has this number now, also another user's; false for 0 and for numbers that no process can have.
bool process_exists(uint64_t number);

// Identifies a process; a later process with the same number is another one. Value type.
struct ProcessIdentity {
  uint64_t number = 0;
  uint64_t start = 0;  // in the kernel's ticks since it booted, 0 = unknown
  std::string space;   // in which the number counts ("pid:[4026531836]"): that of a container is another; "" = unknown
};
ProcessIdentity own_process();

// Whether it runs: false when it has ended, also where its parent did not wait for it yet, and when another one has its number now. One of
// another space counts as running, since nothing can be seen of it.
bool is_running(const ProcessIdentity& process);

// What /proc says of a process; nothing when there is none, or no /proc.
struct ProcessFacts {
  uint64_t parent = 0;
  uint64_t start = 0;
  bool ended = false;  // its parent has not waited for it yet
  uid_t owner = 0;
};
std::optional<ProcessFacts> process_facts(uint64_t number);

// The words that a process was started with, or the title that it gave itself since, in one line; a long one is cut. "" when nothing is
// known. `number` 0 = this process.
std::string command_line_of(uint64_t number);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_PROCESS_H_
