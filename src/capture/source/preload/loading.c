#define _GNU_SOURCE
#include "source/preload/loading.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void say(const char* first, const char* second, const char* third) {
  char text[1024];
  size_t used = 0;
  const char* const parts[] = {"tensortap: ", first, second, third, "\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    for (const char* c = parts[i]; *c != '\0' && used < sizeof text; ++c) text[used++] = *c;
  }
  if (used == sizeof text) text[used - 1] = '\n';
  /* Beyond the program's limit for files (ulimit -f) a write fails with a signal that ends a program. */
  sigset_t size_signal, before;
  sigemptyset(&size_signal);
  sigaddset(&size_signal, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &size_signal, &before);
  const struct timespec at_once = {0, 0};
  if (write(STDERR_FILENO, text, used) < 0 && errno == EFBIG && sigismember(&before, SIGXFSZ) == 0)
    sigtimedwait(&size_signal, NULL, &at_once);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

void* function_of_library(const char* variable, const char* function) {
  const char* request = secure_getenv("TENSORTAP_EXEC");
  if (request == NULL || *request == '\0') return NULL;
  const char* library = secure_getenv(variable);
  if (library == NULL || *library != '/') {
    say("nothing is captured: ", variable, " names no library; start the program with `tensortap exec`");
    return NULL;
  }
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* address = handle != NULL ? dlsym(handle, function) : NULL;
  if (address == NULL) {
    const char* reason = dlerror();
    say("nothing is captured: ", reason != NULL ? reason : library, "");
  }
  return address;
}
