// Messages of our libraries to people, inside another program.

#ifndef TENSORTAP_BASE_MESSAGE_H_
#define TENSORTAP_BASE_MESSAGE_H_

#include <string_view>

namespace tensortap {

// Writes "tensortap: TEXT" as a line on stderr, by one call, so that lines of several processes stay whole. Any thread. A stderr that does
// not take it is the program's own choice.
void say(std::string_view text) noexcept;

// The same for a whole line of another form; `line` has its newline.
void write_to_stderr(std::string_view line) noexcept;

}  // namespace tensortap

#endif  // TENSORTAP_BASE_MESSAGE_H_
