// Where the calling thread is: for the account of an op that failed.

#ifndef TENSORTAP_SESSION_CALL_STACK_H_
#define TENSORTAP_SESSION_CALL_STACK_H_

#include "base/json_fwd.h"

namespace tensortap {

// The calls that led here, the innermost first, without those of this library's own frames above the caller: {"address", "in"}, where "in"
// is the library or program and the offset in it, with the nearest exported name where there is one.
Json call_stack();
// The registers that a call preserves and the rest as they happen to be, by name; null on machines whose registers are not known.
Json registers_here();

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_CALL_STACK_H_
