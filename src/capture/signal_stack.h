// A stack of its own for handlers of signals: a program whose stack is full can be told of nothing on that stack.

#ifndef TENSORTAP_CAPTURE_SIGNAL_STACK_H_
#define TENSORTAP_CAPTURE_SIGNAL_STACK_H_

namespace tensortap {

// Gives this thread a stack for handlers that ask for one (SA_ONSTACK), unless it has one already. It goes when the thread ends. The first
// call of a thread takes a system call or two, every other one a look at a variable of the thread. Without memory the thread goes on as it
// was. Any thread at any time, not in a handler.
void give_thread_signal_stack();

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_SIGNAL_STACK_H_
