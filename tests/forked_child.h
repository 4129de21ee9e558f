// What a body does in a child of fork(), for tests.

#ifndef TENSORTAP_TESTS_FORKED_CHILD_H_
#define TENSORTAP_TESTS_FORKED_CHILD_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forked {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENSORTAP_FORKS_AGAIN
#endif
#endif

#ifdef TENSORTAP_FORKS_AGAIN
// Clang's address sanitizer does not free its allocator's locks in a child of fork(): a child whose parent had another thread in the
// allocator waits forever at its first allocation.
inline constexpr int kForks = 5;
inline constexpr unsigned kSeconds = 20;
#else
inline constexpr int kForks = 1;
inline constexpr unsigned kSeconds = 60;
#endif
#undef TENSORTAP_FORKS_AGAIN

// Children that waited forever, and were replaced by another.
inline int stuck_children = 0;

// How a child ended that ran `body` and no destructors, as waitpid() has it. A child that hangs is ended by SIGALRM.
template <class Body>
int end_of(Body&& body) {
  int status = 0;
  for (int left = kForks; left > 0; --left) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSeconds);
      _exit(body());
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM || left == 1) return status;
    ++stuck_children;
  }
  return status;
}

}  // namespace forked

#endif  // TENSORTAP_TESTS_FORKED_CHILD_H_
