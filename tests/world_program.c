/* Prints what a program inherits from its caller, a line for each thing, for comparing two ways of starting it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static void print_signals(void) {
  sigset_t blocked, pending;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  sigpending(&pending);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) != 0) continue;
    const char* disposition = action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handled";
    printf("signal %d %s%s%s\n", signal, disposition, sigismember(&blocked, signal) == 1 ? " blocked" : "",
           sigismember(&pending, signal) == 1 ? " pending" : "");
  }
}

static void print_limits(void) {
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)kind, &limit) == 0)
      printf("limit %d %llu %llu\n", kind, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
  }
}

static void print_descriptors(void) {
  for (int file = 0; file < 1024; ++file) {
    const int flags = fcntl(file, F_GETFD);
    if (flags < 0) continue;
    char link[64], target[512] = "?";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, target, sizeof target - 1);
    if (size >= 0) target[size] = '\0';
    printf("descriptor %d %d %d %lld %s\n", file, flags, fcntl(file, F_GETFL), (long long)lseek(file, 0, SEEK_CUR), target);
  }
}

static int by_name(const void* one, const void* other) { return strcmp(*(char* const*)one, *(char* const*)other); }

static void print_environment(void) {
  size_t count = 0;
  while (environ[count] != NULL) ++count;
  qsort(environ, count, sizeof *environ, by_name);
  for (size_t i = 0; i < count; ++i) printf("variable %s\n", environ[i]);
}

static void print_process(void) {
  const mode_t mask = umask(0);
  umask(mask);
  printf("umask %03o\n", (unsigned)mask);
  printf("group %d session %d foreground %d\n", getpgrp(), getsid(0), tcgetpgrp(STDIN_FILENO));
  printf("user %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
  errno = 0;
  printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) printf("processors %d\n", CPU_COUNT(&processors));
  printf("personality %x\n", personality(0xffffffff));
  printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
  printf("no new privileges %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  char* folder = getcwd(NULL, 0);
  printf("folder %s\n", folder == NULL ? "?" : folder);
  free(folder);
}

int main(int count, char** words) {
  for (int i = 0; i < count; ++i) printf("word %d %s\n", i, words[i]);
  print_signals();
  print_limits();
  print_descriptors();
  print_process();
  print_environment();
  return 0;
}
