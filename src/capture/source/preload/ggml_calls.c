/*
 * The functions of ggml that compute a graph, for the preloaded stub. Programs call them through the procedure linkage table, also those
 * that load ggml privately, and so come here first.
 *
 * A process may hold several copies of ggml. The real function is that of the object that made the call, or of what this object needs; so
 * each call is passed on to the copy that it would have reached without us. The first call of a captured process loads the library that
 * TENSORTAP_GGML_LIBRARY names, which then makes the calls. The rules are those of stub.c.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <tensortap/ggml.h>

#include "source/preload/loading.h"
#include "source/preload/symbol_search.h"

typedef int compute_function(void* first, void* other);
typedef int capture_function(const tensortap_ggml_call* call);

/* What was found for a caller. `caller` is written last. */
struct found_call {
  const void* caller;
  const void* ours;
  compute_function* real;
  unsigned long long unloads; /* how many objects had been unloaded by then; the entry is valid as long as this number stays */
};
enum { MOST_CALLERS = 64, GGML_STATUS_FAILED = -1 };
static struct found_call found_calls[MOST_CALLERS];
static size_t claimed;

static compute_function* known_function(const void* ours, const void* caller, unsigned long long unloads) {
  for (size_t i = 0; i < MOST_CALLERS; ++i) {
    const struct found_call* one = &found_calls[i];
    if (__atomic_load_n(&one->caller, __ATOMIC_ACQUIRE) != caller) continue;
    if (one->ours == ours && one->unloads == unloads) return one->real;
  }
  return NULL;
}

static void remember(const void* ours, const void* caller, compute_function* real, unsigned long long unloads) {
  if (__atomic_load_n(&claimed, __ATOMIC_RELAXED) >= MOST_CALLERS) return;
  const size_t place = __atomic_fetch_add(&claimed, 1, __ATOMIC_RELAXED);
  if (place >= MOST_CALLERS) return;
  found_calls[place].ours = ours;
  found_calls[place].real = real;
  found_calls[place].unloads = unloads;
  __atomic_store_n(&found_calls[place].caller, caller, __ATOMIC_RELEASE);
}

/* Null when no loaded object has the function, which is reported. */
static compute_function* real_function(const char* name, const void* ours, const void* caller) {
  const unsigned long long unloads = unloaded_objects();
  compute_function* real = known_function(ours, caller, unloads);
  if (real != NULL) return real;
  *(void**)&real = find_function_of_caller(name, ours, caller);
  if (real == NULL) {
    say("a graph of ggml was to be computed, but no loaded object has the function ", name, "");
    return NULL;
  }
  remember(ours, caller, real, unloads);
  return real;
}

/* Sets of threads. A thread looks for itself alone. */
enum { MOST_THREADS = 16 };

/* The place of a thread in a set, MOST_THREADS = none. */
static size_t place_of_thread(const void* const* threads, const void* thread) {
  size_t place = 0;
  while (place < MOST_THREADS && __atomic_load_n(&threads[place], __ATOMIC_RELAXED) != thread) ++place;
  return place;
}

/* Its place; MOST_THREADS when there is no room. */
static size_t enter_thread(const void** threads, const void* thread) {
  size_t place = 0;
  for (const void* nobody = NULL; place < MOST_THREADS; ++place, nobody = NULL) {
    if (__atomic_compare_exchange_n(&threads[place], &nobody, thread, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
  }
  return place;
}

static void leave_thread(const void** threads, size_t place) {
  if (place < MOST_THREADS) __atomic_store_n(&threads[place], NULL, __ATOMIC_RELAXED);
}

/* The threads whose computations pass by while another one loads the library, and how many there are. The calls that a computation makes
 * are parts of it, also once the library is loaded. */
static const void* passing_threads[MOST_THREADS];
static int passing;
static uint64_t missed;

static int pass_by(compute_function* real, void* first, void* other) {
  const void* thread = __builtin_thread_pointer();
  const size_t place = enter_thread(passing_threads, thread);
  __atomic_fetch_add(&passing, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
  const int result = real(first, other);
  __atomic_fetch_sub(&passing, 1, __ATOMIC_RELAXED);
  leave_thread(passing_threads, place);
  return result;
}

/* The threads that warm a model up. */
static const void* warming_threads[MOST_THREADS];

static void set_warming(int is_on) {
  const void* thread = __builtin_thread_pointer();
  const size_t place = place_of_thread(warming_threads, thread);
  if (!is_on) {
    leave_thread(warming_threads, place);
  } else if (place == MOST_THREADS) {
    (void)enter_thread(warming_threads, thread);
  }
}

/* Null while nothing captures. `*is_missed` becomes 1 when another thread is loading what captures. */
static capture_function* capture(int* is_missed) {
  static capture_function* function;
  static int loading;
  static int ended; /* nothing is captured in this process */
  capture_function* known = __atomic_load_n(&function, __ATOMIC_ACQUIRE);
  if (known != NULL || __atomic_load_n(&ended, __ATOMIC_ACQUIRE) != 0) return known;
  if (__atomic_exchange_n(&loading, 1, __ATOMIC_ACQ_REL) != 0) {
    *is_missed = 1;
    return NULL;
  }
  void (*start)(const uint64_t*) = NULL;
  *(void**)&start = function_of_library("TENSORTAP_GGML_LIBRARY", "tensortap_ggml_start");
  if (start != NULL) *(void**)&known = function_of_library("TENSORTAP_GGML_LIBRARY", "tensortap_ggml_compute");
  if (known == NULL) {
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    return NULL;
  }
  start(&missed);
  __atomic_store_n(&function, known, __ATOMIC_RELEASE);
  return known;
}

static int compute(uint32_t kind, void* first, void* other, compute_function* real, const void* caller) {
  int is_missed = 0;
  const int some_pass = __atomic_load_n(&passing, __ATOMIC_RELAXED) != 0;
  if (some_pass && place_of_thread(passing_threads, __builtin_thread_pointer()) < MOST_THREADS) return real(first, other);
  capture_function* captured = capture(&is_missed);
  if (captured == NULL) return is_missed ? pass_by(real, first, other) : real(first, other);
  const uint32_t flags = place_of_thread(warming_threads, __builtin_thread_pointer()) < MOST_THREADS ? TENSORTAP_GGML_WARM_UP : 0;
  const int is_plan = kind == TENSORTAP_GGML_PLAN;
  const tensortap_ggml_call call = {sizeof call, kind, is_plan ? other : first, is_plan ? first : other, real, caller, flags};
  return captured(&call);
}

#define GGML_FUNCTION(name, kind)                                                         \
  __attribute__((visibility("default"))) int name(void* first, void* other);              \
  int name(void* first, void* other) {                                                    \
    const void* caller = __builtin_return_address(0);                                     \
    compute_function* real = real_function(#name, (const void*)name, caller);             \
    return real == NULL ? GGML_STATUS_FAILED : compute(kind, first, other, real, caller); \
  }

GGML_FUNCTION(ggml_backend_sched_graph_compute, TENSORTAP_GGML_SCHEDULER)
GGML_FUNCTION(ggml_backend_sched_graph_compute_async, TENSORTAP_GGML_SCHEDULER)
GGML_FUNCTION(ggml_backend_graph_compute, TENSORTAP_GGML_BACKEND)
GGML_FUNCTION(ggml_backend_graph_compute_async, TENSORTAP_GGML_BACKEND)
/* Backends for processors call it, too, within the calls above. */
GGML_FUNCTION(ggml_graph_compute, TENSORTAP_GGML_PLAN)

/*
 * llama.cpp warms a model up between two calls of llama_set_warmup(context, on). Some builds have it inlined, so that what comes through
 * the linkage table is the method of llama_context that it calls.
 */
typedef void warm_up_function(void* context, _Bool is_on);

static void warm_up(const char* name, const void* ours, const void* caller, void* context, _Bool is_on) {
  warm_up_function* real = NULL;
  *(void**)&real = find_function_of_caller(name, ours, caller);
  set_warming(is_on);
  if (real != NULL) real(context, is_on);
}

#define WARM_UP_FUNCTION(function, name)                                                          \
  __attribute__((visibility("default"))) void function(void* context, _Bool is_on) __asm__(name); \
  void function(void* context, _Bool is_on) { warm_up(name, (const void*)function, __builtin_return_address(0), context, is_on); }

WARM_UP_FUNCTION(set_warm_up, "llama_set_warmup")
WARM_UP_FUNCTION(set_warm_up_of_context, "_ZN13llama_context10set_warmupEb")
