#include "source/pytorch/thread_calls.h"

#include <new>

namespace tensortap {
namespace {

// Plain data, so that it can be read at any time of a thread's life.
thread_local ThreadCalls* calls = nullptr;
thread_local bool ended = false;

struct EndOfThread {
  EndOfThread() = default;
  ~EndOfThread() {
    ended = true;
    delete calls;
    calls = nullptr;
  }
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
};

ThreadCalls* make_calls() {
  static thread_local const EndOfThread end;
  static_cast<void>(end);
  calls = new (std::nothrow) ThreadCalls;
  return calls;
}

}  // namespace

ThreadCalls* thread_calls() {
  if (calls != nullptr) return calls;
  return ended ? nullptr : make_calls();
}

}  // namespace tensortap
