// A separate stack for signal handlers: if the stack of a program is full, no handler can run on it.

#ifndef TENSORTAP_SESSION_SIGNAL_STACK_H_
#define TENSORTAP_SESSION_SIGNAL_STACK_H_

namespace tensortap {

// Gives this thread a stack for handlers that ask for one (SA_ONSTACK), unless it has one already. The stack is freed when the thread ends.
// The first call on a thread makes one or two system calls, every later one only reads a variable of the thread. Without memory, changes
// nothing. Any thread at any time, not in a handler.
void give_thread_signal_stack();

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SIGNAL_STACK_H_
