// The machine's processors, for work whose parts do not depend on each other.

#ifndef TENSORTAP_RANKS_TOGETHER_H_
#define TENSORTAP_RANKS_TOGETHER_H_

#include <cstddef>
#include <functional>

namespace tensortap {

// How many tasks for_each_together() runs at a time: one for each processor, a few at most, since each may hold an open dump.
size_t tasks_together();

// Runs task(0) to task(count - 1), in this order but several at a time, on this thread and others. Returns when all have ended.
void for_each_together(size_t count, const std::function<void(size_t)>& task);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_TOGETHER_H_
