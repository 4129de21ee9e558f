/*
 * The PyTorch source as a C library (libtensortap_pytorch.so). `tensortap exec` brings it into a program; a C++ program may also link it.
 *
 * No function here throws, exits or prints on stdout.
 */
#ifndef TENSORTAP_PYTORCH_H_
#define TENSORTAP_PYTORCH_H_

#include "tensortap/capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called by the preloaded stub at the first operator of the process, with the path of the libtorch_cpu that is loaded. Reads what
 * `tensortap exec` asks for (TENSORTAP_EXEC), loads the adapter that fits and begins to capture. Says on stderr why not, where it cannot.
 * Any thread, at any time, once. */
TENSORTAP_API void tensortap_pytorch_start(const char* libtorch) TENSORTAP_NOEXCEPT;

/* Begins to capture in a program that links this library; libtorch must be loaded. `config` is a dump config in any dialect, null or "" =
 * statistics of everything; `out` the folder, null = the config's own. Returns enum tensortap_status and a message. */
TENSORTAP_API int tensortap_pytorch_open(const char* config, const char* out, char* message, size_t capacity) TENSORTAP_NOEXCEPT;
/* Ends it: writes what is left and run.json. Done by itself at the end of the process. */
TENSORTAP_API int tensortap_pytorch_close(void) TENSORTAP_NOEXCEPT;

/* Loads the adapter that fits the libtorch of this process, without capturing: for graphs that have their own sessions. Returns enum
 * tensortap_status and a message. */
TENSORTAP_API int tensortap_pytorch_prepare(char* message, size_t capacity) TENSORTAP_NOEXCEPT;

/* Ends the current step, for programs whose steps are neither those of an optimizer nor calls of a model. The first call makes all
 * steps of the process the program's own. */
TENSORTAP_API void tensortap_pytorch_step(void) TENSORTAP_NOEXCEPT;

/* Tests an adapter file with known tensors, for doctor and build-adapter: JSON object {"torch", "problem": text or null}. To be called in a
 * separate process that has libtorch loaded. Freed with tensortap_free(). */
TENSORTAP_API char* tensortap_pytorch_self_test(const char* libtorch, const char* adapter) TENSORTAP_NOEXCEPT;

/* For the Python side of this package alone, which calls it with the GIL held: a new dict of built-in functions (PyObject*); null with a
 * Python exception, or without an interpreter. */
TENSORTAP_API void* tensortap_pytorch_python_functions(void) TENSORTAP_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_PYTORCH_H_ */
