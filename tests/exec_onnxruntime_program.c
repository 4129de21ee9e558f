/*
 * A C program that uses ONNX Runtime, for tests/exec_onnxruntime_test.py: runs a model of one int32 or float input and prints a hash of
 * what comes out.
 *
 * usage: program LIBRARY MODEL INPUT_NAME int32|float DIMS OUTPUT_NAME RUNS WORD...
 *
 * LIBRARY is loaded, or "linked" when the program is linked to it. DIMS are like 1x2048. Words: "bytes" makes the session of the model's
 * bytes, "binding" runs by an IO binding, "threads" runs on four threads at the same time, "fork" runs in the parent, then in a child of
 * fork(), then in the parent, "twice" makes the session twice, "level=N" sets the optimisation level, "write=PATH" has the optimised model
 * written, "log=N" has the session log from this level on, "logger" has the environment log by a function of the program, "function" the
 * session, "bad" gives a wrong name in the last run, "mark=NAME" has the ops of this name captured in the runs 1 and 2 ("@": those of what
 * is no session), where the program was made with CHOOSES and linked to libtensortap_onnxruntime. Functions of the library are called by
 * their place in its table (src/capture/source/onnxruntime/runtime/ort_interface.h).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef CHOOSES
#include "tensortap/onnxruntime.h"
#endif

struct api_base {
  void* const* (*get_api)(uint32_t);
  const char* (*get_version)(void);
};
const struct api_base* OrtGetApiBase(void) __attribute__((weak));

static void* const* api;
#define CALL(slot, ...) check(((void* (*)())api[slot])(__VA_ARGS__), slot)

static int check(void* status, int slot) {
  if (status == NULL) return 0;
  printf("function %d: %s\n", slot, ((const char* (*)(void*))api[2])(status));
  ((void (*)(void*))api[93])(status);
  return 1;
}

static char** words;
static int word_count;
static const char* word(const char* begin) {
  for (int i = 0; i < word_count; ++i) {
    if (strncmp(words[i], begin, strlen(begin)) == 0) return words[i] + strlen(begin);
  }
  return NULL;
}

static const char *input_name, *output_name;
static int is_float, rank;
static int64_t dims[8];
static size_t count = 1;
static void *env, *session, *memory;

static void* make_input(int number) {
  void* data = calloc(count, 4);
  for (size_t i = 0; i < count; ++i) {
    if (is_float)
      ((float*)data)[i] = (float)((i * 7 + (size_t)number) % 101) / 101;
    else
      ((int32_t*)data)[i] = (int32_t)((i * 7 + (size_t)number) % 200);
  }
  void* value = NULL;
  CALL(49, memory, data, count * 4, dims, (size_t)rank, is_float ? 1 : 6, &value);
  return value;
}

static uint64_t hash_of(void* value) {
  void *data = NULL, *info = NULL;
  size_t elements = 0;
  uint64_t hash = 0xcbf29ce484222325u;
  CALL(51, value, &data);
  CALL(65, value, &info);
  CALL(64, info, &elements);
  ((void (*)(void*))api[99])(info);
  for (size_t i = 0; i < elements * 4; ++i) hash = (hash ^ ((unsigned char*)data)[i]) * 0x100000001b3u;
  return hash;
}

static uint64_t run(int number, const char* name) {
  void* input = make_input(number);
  void* output = NULL;
  if (word("binding")) {
    void *binding = NULL, *allocator = NULL, **values = NULL;
    size_t outputs = 0;
    CALL(134, session, &binding);
    CALL(136, binding, name, input);
    CALL(138, binding, output_name, memory);
    if (CALL(133, session, NULL, binding)) return 0;
    CALL(78, &allocator);
    CALL(140, binding, allocator, &values, &outputs);
    output = values[0];
    ((void (*)(void*))api[135])(binding);
  } else if (CALL(9, session, NULL, &name, &input, (size_t)1, &output_name, (size_t)1, &output)) {
    return 0;
  }
  const uint64_t hash = hash_of(output);
  ((void (*)(void*))api[96])(output);
  ((void (*)(void*))api[96])(input);
  return hash;
}

static void* run_on_thread(void* number) { return (void*)(uintptr_t)run((int)(intptr_t)number, input_name); }

static void run_threads(int runs) {
  for (int i = 0; i < runs; ++i) {
    pthread_t threads[4];
    for (intptr_t t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, run_on_thread, (void*)(t + i));
    for (int t = 0; t < 4; ++t) {
      void* hash = NULL;
      pthread_join(threads[t], &hash);
      printf("%016llx\n", (unsigned long long)(uintptr_t)hash);
    }
  }
}

static void log_line(void* parameter, int severity, const char* category, const char* id, const char* where, const char* text) {
  fprintf(stderr, "%s %d %s %s: %s\n", (const char*)parameter, severity, category, id, text);
}

static int open_session(const char* model) {
  void* options = NULL;
  CALL(10, &options);
  if (word("level=")) CALL(23, options, atoi(word("level=")));
  if (word("log=")) CALL(22, options, atoi(word("log=")));
  if (word("function")) CALL(266, options, log_line, "session");
  if (word("write=")) CALL(11, options, word("write="));
  CALL(24, options, 1);
  int failed;
  if (word("bytes")) {
    FILE* file = fopen(model, "rb");
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char* bytes = malloc((size_t)size);
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size) return 1;
    fclose(file);
    failed = CALL(8, env, bytes, (size_t)size, options, &session);
    free(bytes);
  } else {
    failed = CALL(7, env, model, options, &session);
  }
  ((void (*)(void*))api[100])(options);
  return failed;
}

static void choose(const char* name, int enabled) {
#ifdef CHOOSES
  char message[512];
  const int wrong = strcmp(name, "@") == 0;
  const int status =
      tensortap_onnxruntime_set_dump(wrong ? (const void*)name : session, wrong ? NULL : name, enabled, message, sizeof(message));
  if (status != TENSORTAP_OK) printf("%d: %s\n", status, message);
#endif
}

static void print_runs(int runs) {
  if (word("threads")) {
    run_threads(runs);
    return;
  }
  for (int i = 0; i < runs; ++i) {
    const int wrong = word("bad") && i == runs - 1;
    if (word("mark=") && (i == 1 || i == 3)) choose(word("mark="), i == 1);
    printf("%016llx\n", (unsigned long long)run(i, wrong ? "no such input" : input_name));
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  words = argv + 8;
  word_count = argc - 8;
  input_name = argv[3];
  output_name = argv[6];
  is_float = strcmp(argv[4], "float") == 0;
  for (char* part = strtok(argv[5], "x"); part != NULL; part = strtok(NULL, "x")) count *= (size_t)(dims[rank++] = atoll(part));
  const struct api_base* (*get_base)(void) = OrtGetApiBase;
  if (strcmp(argv[1], "linked") != 0) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) return puts(dlerror()), 1;
    *(void**)&get_base = dlsym(library, "OrtGetApiBase");
  }
  const struct api_base* base = get_base();
  api = base->get_api((uint32_t)atoi(strchr(base->get_version(), '.') + 1));
  if (word("logger")) {
    CALL(4, log_line, "environment", 3, "program", &env);
  } else {
    CALL(3, 3, "program", &env);
  }
  CALL(69, 0, 0, &memory);
  for (int i = 0; i < (word("twice") ? 2 : 1); ++i) {
    if (open_session(argv[2])) return 1;
    print_runs(atoi(argv[7]));
    if (word("fork")) {
      if (fork() == 0) {
        print_runs(1);
        _exit(0); /* the runtime has threads, which are not here */
      }
      wait(NULL);
      print_runs(1);
    }
    ((void (*)(void*))api[95])(session);
  }
  ((void (*)(void*))api[92])(env);
  return 0;
}
