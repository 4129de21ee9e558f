/*
 * The ggml source as a C library (libtensortap_ggml.so), for the preloaded stub alone, which `tensortap exec` brings into programs such as
 * those over llama.cpp and whisper.cpp.
 *
 * No function here exits or prints on stdout. What the real function throws passes through.
 */
#ifndef TENSORTAP_GGML_H_
#define TENSORTAP_GGML_H_

#include "tensortap/capture.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tensortap_ggml_kind {
  TENSORTAP_GGML_SCHEDULER = 0, /* ggml_backend_sched_graph_compute, and ..._async */
  TENSORTAP_GGML_BACKEND = 1,   /* ggml_backend_graph_compute, and ..._async */
  TENSORTAP_GGML_PLAN = 2       /* ggml_graph_compute, which ggml_graph_compute_with_ctx calls, too */
};

/* The thread has said by llama_set_warmup() that it warms a model up. */
#define TENSORTAP_GGML_WARM_UP 1u

/* A call of a function of ggml that computes a graph. */
typedef struct tensortap_ggml_call {
  uint32_t size;
  uint32_t kind;  /* enum tensortap_ggml_kind */
  void* computer; /* the scheduler, backend or plan */
  void* graph;
  int (*real)(void* first, void* other); /* ggml's function, in the copy of ggml that the caller is bound to; a graph is `other`, but the
                                          * first argument beside a plan */
  const void* caller;                    /* where the call returns to */
  uint32_t flags;                        /* TENSORTAP_GGML_* */
} tensortap_ggml_call;

/* Makes the call, captures what it computes, and returns its result. Any thread. */
TENSORTAP_API int tensortap_ggml_compute(const tensortap_ggml_call* call);

/* Called once, before the first tensortap_ggml_compute(). `*missed` counts the calls that other threads made while this library was being
 * loaded; it lives as long as the process. */
TENSORTAP_API void tensortap_ggml_start(const uint64_t* missed) TENSORTAP_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_GGML_H_ */
