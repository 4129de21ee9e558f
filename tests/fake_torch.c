/*
 * Stands for libtorch_cpu.so where a test is about getting into a process, not about operators: the function that every operator calls, and
 * what tells release and string ABI. FAKE_ABI_VERSION 0 leaves the release to the files beside the library. FAKE_ENTRY names that function
 * otherwise: releases before 2.4 lack it.
 */
#include <stdint.h>

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 2
#endif
#ifndef FAKE_MINOR
#define FAKE_MINOR 13
#endif
#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION 1
#endif
#ifndef FAKE_ENTRY
#define FAKE_ENTRY "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"
#endif
#ifndef FAKE_STRING_ABI
#define FAKE_STRING_ABI 1
#endif

struct callbacks {
  uint64_t words[8]; /* too large for registers: the caller gives the place, as for torch's std::optional */
};

struct callbacks step_callbacks(int32_t scope) __asm__(FAKE_ENTRY);
struct callbacks step_callbacks(int32_t scope) {
  struct callbacks result = {{0}};
  for (int i = 0; i < 8; ++i) result.words[i] = (uint64_t)scope * 100 + (uint64_t)i;
  return result;
}

#if FAKE_STRING_ABI
void show_config(void) __asm__("_ZN2at11show_configB5cxx11Ev");
#else
void show_config(void) __asm__("_ZN2at11show_configEv");
#endif
void show_config(void) {}

#if FAKE_ABI_VERSION
uint64_t aoti_torch_abi_version(void) { return (uint64_t)FAKE_MAJOR << 56 | (uint64_t)FAKE_MINOR << 48; }
#endif

/* Runs `count` operators; returns how many of them got what the function gives. */
int fake_torch_run(int count) {
  int right = 0;
  for (int scope = 0; scope < count; ++scope) {
    const struct callbacks got = step_callbacks(scope);
    int same = 1;
    for (int i = 0; i < 8; ++i) same = same && got.words[i] == (uint64_t)scope * 100 + (uint64_t)i;
    right += same;
  }
  return right;
}
