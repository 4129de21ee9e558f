/*
 * libtensortap_preload.so: `tensortap exec` preloads it into a program and, through the environment, into its children.
 *
 * It needs the C library only and does nothing when it is loaded. The loader of another C library (musl) takes it as well: the children of
 * a program inherit LD_PRELOAD whatever they are linked to, and a library that a loader cannot take ends such a child before it starts.
 * Nothing is captured there, which is reported once for each `tensortap exec`. It defines these functions; a preloaded library comes first
 * in every lookup:
 *
 *  - at::getStepCallbacksUnlessEmpty(RecordScope), the one exported function of libtorch_cpu that every operator calls through the
 *    procedure linkage table. The first operator of the process arrives here. The stub loads the library that TENSORTAP_PYTORCH_LIBRARY
 *    names and calls its tensortap_pytorch_start(); from then on the function jumps to the real one. It never touches the return value, an
 *    object of C++, so nothing here depends on a torch version or a C++ ABI.
 *  - OrtGetApiBase(), which gives a program that is linked to ONNX Runtime its functions. It returns those of tensortap_onnxruntime_wrap(),
 *    in the library that TENSORTAP_ONNXRUNTIME_LIBRARY names.
 *  - dlsym(), which jumps to the real one except for two names: OrtGetApiBase, for programs that load ONNX Runtime themselves, and the
 *    entry of its Python module, at which the interpreter is asked to watch it. The caller's return address stays, since lookups depend on
 *    the caller.
 *  - the functions of ggml that compute a graph (ggml_calls.c).
 *
 * Rules: without TENSORTAP_EXEC it only jumps. One thread loads. Threads that arrive meanwhile go on uncaptured and never wait, since the
 * loading thread may need what they hold (the loader's lock, the guard of a static object). Real functions are looked up in the tables of
 * the loaded objects, without that lock. A failed load is reported once on stderr, and the program goes on. If no loaded object has torch's
 * real function, the process cannot go on: without the stub, the loader would end it for the missing symbol; here the stub ends it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/preload/loading.h"
#include "source/preload/symbol_search.h"

#define SYMBOL "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"

/* Only glibc's loader has it. Weak, so that another one does not miss it. */
#pragma weak _r_debug

/* Hidden, but named by the assembler below. */
__attribute__((visibility("hidden"), used)) void* tensortap_preload_target; /* the real function, once no operator has to stop here */
__attribute__((visibility("hidden"), used)) void* tensortap_preload_resolve(void);
extern const char tensortap_preload_entry[]
    __attribute__((visibility("hidden"))); /* the trampoline by another name: what is not the real function */
__attribute__((visibility("hidden"), used)) void* tensortap_preload_dlsym_target;  /* the real dlsym, once it is known */
extern const char tensortap_preload_dlsym[] __attribute__((visibility("hidden"))); /* ours by another name */

/* The answer of dlsym() to a name that it does not simply pass on. */
struct lookup {
  void* address;      /* the answer, or the function to jump to */
  uintptr_t answered; /* not 0: `address` is the answer */
};
__attribute__((visibility("hidden"), used)) struct lookup tensortap_preload_lookup(void* handle, const char* name);

/* The trampoline keeps the arguments (the place of the return value and the scope) as they came; nothing else is alive at a call. */
#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl " SYMBOL
    ", tensortap_preload_entry\n"
    ".type " SYMBOL
    ",@function\n"
    ".hidden tensortap_preload_entry\n"
    "tensortap_preload_entry:\n" SYMBOL
    ":\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  mov tensortap_preload_target(%rip), %rax\n"
    "  test %rax, %rax\n"
    "  jz 1f\n"
    "  jmp *%rax\n"
    "1:\n"
    "  push %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  sub $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call tensortap_preload_resolve\n"
    "  add $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  jmp *%rax\n"
    "  .cfi_endproc\n"
    ".size " SYMBOL ", . - " SYMBOL
    "\n"
    ".globl dlsym, tensortap_preload_dlsym\n"
    ".type dlsym,@function\n"
    ".hidden tensortap_preload_dlsym\n"
    "tensortap_preload_dlsym:\n"
    "dlsym:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  test %rsi, %rsi\n"
    "  jz 1f\n"
    "  cmpb $'O', (%rsi)\n"
    "  je 2f\n"
    "  cmpb $'P', (%rsi)\n"
    "  je 2f\n"
    "1:\n"
    "  mov tensortap_preload_dlsym_target(%rip), %rax\n"
    "  test %rax, %rax\n"
    "  jz 2f\n"
    "  jmp *%rax\n"
    "2:\n"
    "  push %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  sub $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call tensortap_preload_lookup\n"
    "  add $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  test %rdx, %rdx\n"
    "  jnz 3f\n"
    "  jmp *%rax\n"
    "3:\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
/* x8 has the place of the return value, w0 the scope; hint #34 is "bti c", 79 is 'O', 80 is 'P'. */
__asm__(
    ".text\n"
    ".balign 4\n"
    ".globl " SYMBOL
    ", tensortap_preload_entry\n"
    ".type " SYMBOL
    ", %function\n"
    ".hidden tensortap_preload_entry\n"
    "tensortap_preload_entry:\n" SYMBOL
    ":\n"
    "  .cfi_startproc\n"
    "  hint #34\n"
    "  adrp x16, tensortap_preload_target\n"
    "  ldr x16, [x16, :lo12:tensortap_preload_target]\n"
    "  cbz x16, 1f\n"
    "  br x16\n"
    "1:\n"
    "  stp x29, x30, [sp, #-32]!\n"
    "  .cfi_def_cfa_offset 32\n"
    "  .cfi_offset 29, -32\n"
    "  .cfi_offset 30, -24\n"
    "  mov x29, sp\n"
    "  stp x0, x8, [sp, #16]\n"
    "  bl tensortap_preload_resolve\n"
    "  mov x16, x0\n"
    "  ldp x0, x8, [sp, #16]\n"
    "  ldp x29, x30, [sp], #32\n"
    "  .cfi_restore 30\n"
    "  .cfi_restore 29\n"
    "  .cfi_def_cfa_offset 0\n"
    "  br x16\n"
    "  .cfi_endproc\n"
    ".size " SYMBOL ", . - " SYMBOL
    "\n"
    ".balign 4\n"
    ".globl dlsym, tensortap_preload_dlsym\n"
    ".type dlsym, %function\n"
    ".hidden tensortap_preload_dlsym\n"
    "tensortap_preload_dlsym:\n"
    "dlsym:\n"
    "  .cfi_startproc\n"
    "  hint #34\n"
    "  cbz x1, 1f\n"
    "  ldrb w16, [x1]\n"
    "  cmp w16, #79\n"
    "  b.eq 2f\n"
    "  cmp w16, #80\n"
    "  b.eq 2f\n"
    "1:\n"
    "  adrp x16, tensortap_preload_dlsym_target\n"
    "  ldr x16, [x16, :lo12:tensortap_preload_dlsym_target]\n"
    "  cbz x16, 2f\n"
    "  br x16\n"
    "2:\n"
    "  stp x29, x30, [sp, #-32]!\n"
    "  .cfi_def_cfa_offset 32\n"
    "  .cfi_offset 29, -32\n"
    "  .cfi_offset 30, -24\n"
    "  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n"
    "  bl tensortap_preload_lookup\n"
    "  mov x16, x0\n"
    "  mov x17, x1\n"
    "  ldp x0, x1, [sp, #16]\n"
    "  ldp x29, x30, [sp], #32\n"
    "  .cfi_restore 30\n"
    "  .cfi_restore 29\n"
    "  .cfi_def_cfa_offset 0\n"
    "  cbnz x17, 3f\n"
    "  br x16\n"
    "3:\n"
    "  mov x0, x16\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size dlsym, . - dlsym\n");
#else
#error "tensortap: the preloaded stub has no trampoline for this processor"
#endif

/* ---- other C libraries ---- */

static int is_other_loader(void) { return &_r_debug == NULL; }

/* Whether this process is the first of its `tensortap exec` to come here: it makes the mark beside the request. */
static int makes_mark(const char* request) {
  static const char mark[] = "other_loader";
  char path[4096];
  const char* slash = strrchr(request, '/');
  const size_t folder = slash == NULL ? 0 : (size_t)(slash - request) + 1;
  if (folder == 0 || folder + sizeof mark > sizeof path) return 0;
  memcpy(path, request, folder);
  memcpy(path + folder, mark, sizeof mark);
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  close(file);
  return 1;
}

__attribute__((constructor)) static void tell_of_other_loader(void) {
  if (!is_other_loader()) return;
  const int error = errno;
  const char* request = secure_getenv("TENSORTAP_EXEC");
  char program[512];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = '\0';
  if (request != NULL && makes_mark(request)) {
    say("nothing is captured in ", program, ", which uses another C library than glibc, nor in other programs that do");
  }
  errno = error;
}

/* ---- torch ---- */

void* tensortap_preload_resolve(void) {
  static void* found; /* every thread that races here finds the same address */
  static int loading;
  void* real = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  const char* path = "";
  if (real == NULL) {
    const struct search search = find_function(SYMBOL, tensortap_preload_entry, "libtorch_cpu.so");
    if (search.function == NULL) {
      say("an operator of torch was called, but no loaded object has the function ", SYMBOL, "; the program cannot go on");
      abort();
    }
    real = search.function;
    path = search.path;
    __atomic_store_n(&found, real, __ATOMIC_RELEASE);
  }
  if (path == NULL || *path == '\0' || __atomic_exchange_n(&loading, 1, __ATOMIC_ACQ_REL) != 0) return real;
  void (*start)(const char*) = NULL;
  *(void**)&start = function_of_library("TENSORTAP_PYTORCH_LIBRARY", "tensortap_pytorch_start");
  if (start != NULL) start(path);
  __atomic_store_n(&tensortap_preload_target, real, __ATOMIC_RELEASE);
  return real;
}

/* ---- ONNX Runtime ---- */

#define ORT_LIBRARY "TENSORTAP_ONNXRUNTIME_LIBRARY"

typedef const void* base_function(void);

/* The real OrtGetApiBase of the one library of the process that is captured: the first that the program asks for. */
static void* ort_function;

static void* set_ort_function(void* function) {
  void* nobody = NULL;
  __atomic_compare_exchange_n(&ort_function, &nobody, function, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return __atomic_load_n(&ort_function, __ATOMIC_ACQUIRE);
}

__attribute__((visibility("default"))) const void* OrtGetApiBase(void);
const void* OrtGetApiBase(void) {
  static const void* wrapped;
  static int loading;
  const void* known = __atomic_load_n(&wrapped, __ATOMIC_ACQUIRE);
  if (known != NULL) return known;
  base_function* real = NULL;
  *(void**)&real = __atomic_load_n(&ort_function, __ATOMIC_ACQUIRE);
  if (real == NULL) {
    const struct search search = find_function("OrtGetApiBase", (const void*)OrtGetApiBase, "libonnxruntime.so");
    if (search.function == NULL) return NULL;
    *(void**)&real = set_ort_function(search.function);
  }
  const void* base = real();
  if (base == NULL || __atomic_exchange_n(&loading, 1, __ATOMIC_ACQ_REL) != 0) return base;
  const void* (*wrap)(const void*) = NULL;
  *(void**)&wrap = function_of_library(ORT_LIBRARY, "tensortap_onnxruntime_wrap");
  if (wrap != NULL) base = wrap(base);
  __atomic_store_n(&wrapped, base, __ATOMIC_RELEASE);
  return base;
}

static void start_python(void) {
  static int started;
  if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL) != 0) return;
  void (*start)(void) = NULL;
  *(void**)&start = function_of_library(ORT_LIBRARY, "tensortap_onnxruntime_start_python");
  if (start != NULL) start();
}

typedef void* lookup_function(void*, const char*);

/* The answer to a lookup of OrtGetApiBase: our function for the library that is captured, the real one for any other. */
static struct lookup find_ort(lookup_function* real, void* handle, const char* name) {
  void* found = real(handle, name);
  /* The program's whole scope also contains our function; without us the program would find the next one. */
  if (found == (void*)OrtGetApiBase) found = real(RTLD_NEXT, name);
  if (found != NULL && set_ort_function(found) == found) found = (void*)OrtGetApiBase;
  return (struct lookup){found, 1};
}

struct lookup tensortap_preload_lookup(void* handle, const char* name) {
  lookup_function* real = NULL;
  *(void**)&real = __atomic_load_n(&tensortap_preload_dlsym_target, __ATOMIC_ACQUIRE);
  if (real == NULL) {
    /* Search the loader's own list, without the C library's functions: the first caller may be a library in front of them that is not ready
     * yet. The libraries before the C library are in the list from the beginning. */
    struct search search = {"dlsym", tensortap_preload_dlsym, NULL, 1, 0, NULL, ""};
    if (is_other_loader()) search = find_function("dlsym", tensortap_preload_dlsym, NULL);
    for (const struct link_map* map = is_other_loader() ? NULL : _r_debug.r_map; map != NULL; map = map->l_next) {
      if (search_in(&search, map->l_addr, map->l_ld, map->l_name)) break;
    }
    if (search.function == NULL) return (struct lookup){NULL, 1};
    *(void**)&real = search.function;
    __atomic_store_n(&tensortap_preload_dlsym_target, search.function, __ATOMIC_RELEASE);
  }
  if (name != NULL && is_same(name, "OrtGetApiBase") && handle != RTLD_NEXT) return find_ort(real, handle, name);
  if (name != NULL && is_same(name, "PyInit_onnxruntime_pybind11_state")) start_python();
  return (struct lookup){(void*)real, 0};
}
