/*
 * libtensortap_preload.so: what `tensortap exec` preloads into a program and, with the environment, into its children.
 *
 * It needs the C library only and does nothing when it is loaded. It defines the one exported function of libtorch_cpu that every operator
 * calls through the procedure linkage table, at::getStepCallbacksUnlessEmpty(RecordScope); a preloaded library comes first in every lookup, so
 * the first operator of the process arrives here. The function finds the real one, loads the library that TENSORTAP_PYTORCH_LIBRARY names, calls its
 * tensortap_pytorch_start() and from then on jumps to the real function. The return value, an object of C++, is never touched: there is
 * nothing here that depends on a torch version or a C++ ABI.
 *
 * Rules: without TENSORTAP_EXEC it only jumps. One thread loads; others that arrive meanwhile go on uncaptured and never wait, since the loading
 * thread may need what they hold (the loader's lock, the guard of a static object). The real function is looked up in the tables of the loaded
 * objects, without that lock. A loading that fails is said once on stderr and the program goes on. A process whose real
 * function is in no loaded object can not go on, as without the stub, where the loader would end it for the missing symbol; it is ended here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYMBOL "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"

/* Hidden, but named by the assembler below. */
__attribute__((visibility("hidden"), used)) void* tensortap_preload_target; /* the real function, once no operator has to stop here */
__attribute__((visibility("hidden"), used)) void* tensortap_preload_resolve(void);
extern const char tensortap_preload_entry[]
    __attribute__((visibility("hidden"))); /* the trampoline by another name: what is not the real function */

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
    ".size " SYMBOL ", . - " SYMBOL "\n");
#elif defined(__aarch64__)
/* x8 has the place of the return value, w0 the scope; hint #34 is "bti c". */
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
    ".size " SYMBOL ", . - " SYMBOL "\n");
#else
#error "tensortap: the preloaded stub has no trampoline for this processor"
#endif

/* The dynamic symbol table of a loaded object. */
struct tables {
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* hash;
};

static const void* address_in(const struct dl_phdr_info* object, ElfW(Addr) value) {
  /* glibc has most of these relocated in place, other loaders leave them as offsets. */
  return (const void*)(value < object->dlpi_addr ? object->dlpi_addr + value : value);
}

static struct tables tables_of(const struct dl_phdr_info* object) {
  struct tables found = {NULL, NULL, NULL, NULL};
  const ElfW(Dyn)* entry = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) entry = (const ElfW(Dyn)*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  }
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    const void* address = address_in(object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) found.symbols = address;
    if (entry->d_tag == DT_STRTAB) found.strings = address;
    if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = address;
    if (entry->d_tag == DT_HASH) found.hash = address;
  }
  return found;
}

static int is_wanted(const struct tables* tables, uint32_t number) {
  const ElfW(Sym)* symbol = &tables->symbols[number];
  return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC && strcmp(tables->strings + symbol->st_name, SYMBOL) == 0;
}

/* Number of the symbol, 0 = not there. */
static uint32_t find_by_gnu_hash(const struct tables* tables) {
  uint32_t hash = 5381;
  for (const char* c = SYMBOL; *c != '\0'; ++c) hash = hash * 33 + (unsigned char)*c;
  const uint32_t buckets = tables->gnu_hash[0];
  const uint32_t first = tables->gnu_hash[1];
  const uint32_t filter_words = tables->gnu_hash[2];
  const uint32_t* bucket = tables->gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  if (buckets == 0 || bucket[hash % buckets] < first) return 0;
  for (uint32_t number = bucket[hash % buckets];; ++number) {
    if ((chain[number - first] | 1u) == (hash | 1u) && is_wanted(tables, number)) return number;
    if ((chain[number - first] & 1u) != 0) return 0;
  }
}

static uint32_t find_by_hash(const struct tables* tables) {
  for (uint32_t number = 1; number < tables->hash[1]; ++number) {
    if (is_wanted(tables, number)) return number;
  }
  return 0;
}

struct search {
  int any_name;     /* 0: only objects named libtorch_cpu.so*, 1: any other object */
  void* function;   /* null = not found */
  const char* path; /* of the object that has it; its name lives as long as the object */
};

static int search_object(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  struct search* search = context;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash != NULL ? slash + 1 : object->dlpi_name;
  /* Distributions add a version to the name. */
  if (!search->any_name && strncmp(name, "libtorch_cpu.so", 15) != 0) return 0;
  const struct tables tables = tables_of(object);
  if (tables.symbols == NULL || tables.strings == NULL) return 0;
  const uint32_t number = tables.gnu_hash != NULL ? find_by_gnu_hash(&tables) : tables.hash != NULL ? find_by_hash(&tables) : 0;
  if (number == 0) return 0;
  void* function = (void*)(object->dlpi_addr + tables.symbols[number].st_value);
  if (function == (const void*)tensortap_preload_entry) return 0;
  search->function = function;
  search->path = object->dlpi_name;
  return 1;
}

static void say(const char* first, const char* second, const char* third) {
  char text[1024];
  size_t used = 0;
  const char* const parts[] = {"tensortap: ", first, second, third, "\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    for (const char* c = parts[i]; *c != '\0' && used < sizeof text; ++c) text[used++] = *c;
  }
  if (used == sizeof text) text[used - 1] = '\n';
  const ssize_t written = write(STDERR_FILENO, text, used);
  (void)written;
}

static void start_capture(const char* libtorch) {
  const char* request = secure_getenv("TENSORTAP_EXEC");
  if (request == NULL || *request == '\0') return;
  const char* library = secure_getenv("TENSORTAP_PYTORCH_LIBRARY");
  if (library == NULL || *library != '/') {
    say("nothing is captured: TENSORTAP_PYTORCH_LIBRARY names no library; start the program with `tensortap exec`", "", "");
    return;
  }
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void (*start)(const char*) = NULL;
  if (handle != NULL) *(void**)&start = dlsym(handle, "tensortap_pytorch_start");
  if (start == NULL) {
    const char* reason = dlerror();
    say("nothing is captured: ", reason != NULL ? reason : library, "");
    return;
  }
  start(libtorch);
}

void* tensortap_preload_resolve(void) {
  static void* found; /* every thread that races here finds the same address */
  static int loading;
  void* real = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  struct search search = {0, NULL, ""};
  if (real == NULL) {
    dl_iterate_phdr(search_object, &search);
    if (search.function == NULL) {
      search.any_name = 1;
      dl_iterate_phdr(search_object, &search);
    }
    if (search.function == NULL) {
      say("an operator of torch was called, but no loaded object has the function ", SYMBOL, "; the program can not go on");
      abort();
    }
    real = search.function;
    __atomic_store_n(&found, real, __ATOMIC_RELEASE);
  }
  if (search.path == NULL || *search.path == '\0' || __atomic_exchange_n(&loading, 1, __ATOMIC_ACQ_REL) != 0) return real;
  start_capture(search.path);
  __atomic_store_n(&tensortap_preload_target, real, __ATOMIC_RELEASE);
  return real;
}
