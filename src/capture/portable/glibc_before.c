/* What GCC 12's headers, libstdc++.a and our own code expect of a glibc younger than 2.28. Hidden in what a portable build installs. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

/* Says that the process has several threads: callers then use atomic operations, which are always right. */
char __libc_single_threaded = 0;

const char* sigabbrev_np(int signal_number) {
  static const char* const names[] = {NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
                                      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
                                      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  const int known = (int)(sizeof names / sizeof names[0]);
  return signal_number > 0 && signal_number < known ? names[signal_number] : NULL;
}

/* Old conditions wait on the wall clock: the time that is left is measured on the clock that was asked for, and added to now. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  const long second = 1000000000;
  struct timespec now;
  struct timespec wall;
  if (clock == CLOCK_REALTIME) {
    return pthread_cond_timedwait(condition, mutex, until);
  }
  if (clock != CLOCK_MONOTONIC || clock_gettime(clock, &now) != 0) {
    return EINVAL;
  }
  clock_gettime(CLOCK_REALTIME, &wall);
  wall.tv_sec += until->tv_sec - now.tv_sec;
  wall.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (wall.tv_nsec < 0) {
    wall.tv_nsec += second;
    --wall.tv_sec;
  } else if (wall.tv_nsec >= second) {
    wall.tv_nsec -= second;
    ++wall.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &wall);
}

/* std::random_device calls this on machines without an instruction for random numbers. */
unsigned int arc4random(void) {
  unsigned int number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    if (errno != EINTR) {
      abort(); /* as newer versions do: a number that is not random would be worse */
    }
  }
  return number;
}
