#include "source/pytorch/events/thread_calls.h"

#include <tensortap/asking.h>

#include <new>

namespace tensortap::pytorch {
namespace {

// Plain data, so that it can be read at any time of a thread's life.
thread_local ThreadCalls* own_calls = nullptr;
thread_local bool thread_ended = false;

struct EndOfThread {
  EndOfThread() = default;
  ~EndOfThread() {
    thread_ended = true;
    delete own_calls;
    own_calls = nullptr;
  }
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
};

ThreadCalls* make_calls() {
  static thread_local const EndOfThread end;
  static_cast<void>(end);
  own_calls = new (std::nothrow) ThreadCalls;
  return own_calls;
}

}  // namespace

void tell_that_it_goes_on(ThreadCalls& calls, tensortap_session* session) {
  if (!calls.has_failed) return;
  calls.has_failed = false;
  tensortap_failure_was_caught(session);
}

ThreadCalls* thread_calls() {
  if (own_calls != nullptr) return own_calls;
  return thread_ended ? nullptr : make_calls();
}

}  // namespace tensortap::pytorch
