// The machine's processors, for work whose parts do not depend on each other.

#ifndef TENSORTAP_BASE_TOGETHER_H_
#define TENSORTAP_BASE_TOGETHER_H_

#include <cstddef>
#include <functional>

namespace tensortap {

// How many tasks run at a time unless a caller says otherwise: one for each processor, a few at most, since each may hold an open dump.
size_t tasks_together();

// Runs task(0) to task(count - 1), in this order but several at a time, at most `most`, on this thread and others; fewer where the machine
// gives no more threads. Returns when all have ended. If a task throws, no further one begins, and the first exception is thrown here.
void for_each_together(size_t count, const std::function<void(size_t)>& task, size_t most = tasks_together());

}  // namespace tensortap

#endif  // TENSORTAP_BASE_TOGETHER_H_
