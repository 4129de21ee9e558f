/* A program over ggml's own interface, for tests/ggml_library_test.py, linked to the libraries of the package libggml-python.
 *
 * ggml_program MODE: plain; callback (it has an evaluation callback); end (its callback ends the computation); threads (two schedulers at
 * the same time); direct (a backend gets the graph without a scheduler); again (ten steps); fork (a child computes, too). Prints what it
 * computed, and the calls of the callback. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ggml_init_params {
  size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};
typedef bool eval_callback(void* tensor, bool ask, void* user);
void* ggml_init(struct ggml_init_params parameters);
void ggml_free(void* context);
void* ggml_new_tensor_2d(void* context, int type, int64_t ne0, int64_t ne1);
void* ggml_mul_mat(void* context, void* a, void* b);
void* ggml_add(void* context, void* a, void* b);
void* ggml_transpose(void* context, void* a);
void* ggml_cont(void* context, void* a);
void* ggml_soft_max(void* context, void* a);
void* ggml_set_name(void* tensor, const char* name);
const char* ggml_get_name(const void* tensor);
void ggml_set_input(void* tensor);
void ggml_set_output(void* tensor);
void* ggml_new_graph(void* context);
void ggml_build_forward_expand(void* graph, void* tensor);
void* ggml_backend_cpu_init(void);
void ggml_backend_free(void* backend);
void* ggml_backend_alloc_ctx_tensors(void* context, void* backend);
void ggml_backend_buffer_free(void* buffer);
void ggml_backend_buffer_set_usage(void* buffer, int usage);
void* ggml_backend_sched_new(void** backends, void** types, int count, size_t graph_size, bool parallel, bool op_offload);
void ggml_backend_sched_free(void* scheduler);
void ggml_backend_sched_reset(void* scheduler);
bool ggml_backend_sched_alloc_graph(void* scheduler, void* graph);
int ggml_backend_sched_graph_compute(void* scheduler, void* graph);
void ggml_backend_sched_set_eval_callback(void* scheduler, eval_callback* callback, void* user);
int ggml_backend_graph_compute(void* backend, void* graph);
void ggml_backend_tensor_set(void* tensor, const void* data, size_t offset, size_t bytes);
void ggml_backend_tensor_get(const void* tensor, void* data, size_t offset, size_t bytes);

enum { IN = 4, OUT = 5, ROWS = 3, WEIGHTS_USAGE = 1, GRAPH = 2048 };

struct weights {
  void* context;
  void* buffer;
  void *w, *b;
};
struct graph {
  void *context, *graph, *x, *out;
};

static struct weights make_weights(void* backend) {
  const struct ggml_init_params parameters = {1 << 16, NULL, true};
  struct weights made = {ggml_init(parameters), NULL, NULL, NULL};
  made.w = ggml_new_tensor_2d(made.context, 0, IN, OUT);
  made.b = ggml_new_tensor_2d(made.context, 0, OUT, 1);
  ggml_set_name(made.w, "layer.weight");
  ggml_set_name(made.b, "layer.bias");
  made.buffer = ggml_backend_alloc_ctx_tensors(made.context, backend);
  ggml_backend_buffer_set_usage(made.buffer, WEIGHTS_USAGE);
  float w[IN * OUT], b[OUT];
  for (int i = 0; i < IN * OUT; ++i) w[i] = (float)(i % 7) * 0.25f - 0.5f;
  for (int i = 0; i < OUT; ++i) b[i] = (float)i * 0.125f;
  ggml_backend_tensor_set(made.w, w, 0, sizeof w);
  ggml_backend_tensor_set(made.b, b, 0, sizeof b);
  return made;
}

static struct graph make_graph(const struct weights* weights) {
  const struct ggml_init_params parameters = {1 << 20, NULL, true};
  struct graph made = {ggml_init(parameters), NULL, NULL, NULL};
  made.x = ggml_new_tensor_2d(made.context, 0, IN, ROWS);
  ggml_set_name(made.x, "x");
  ggml_set_input(made.x);
  void* y = ggml_set_name(ggml_mul_mat(made.context, weights->w, made.x), "y");
  void* z = ggml_set_name(ggml_add(made.context, y, weights->b), "z");
  void* turned = ggml_cont(made.context, ggml_transpose(made.context, z));
  made.out = ggml_set_name(ggml_soft_max(made.context, turned), "out");
  ggml_set_output(made.out);
  made.graph = ggml_new_graph(made.context);
  ggml_build_forward_expand(made.graph, made.out);
  return made;
}

static void set_input(const struct graph* graph, int step) {
  float x[IN * ROWS];
  for (int i = 0; i < IN * ROWS; ++i) x[i] = (float)((i + step) % 5) - 1.5f;
  ggml_backend_tensor_set(graph->x, x, 0, sizeof x);
}

static void print_output(const struct graph* graph, const char* title) {
  float out[OUT * ROWS];
  char line[1024];
  int used = snprintf(line, sizeof line, "%s", title);
  ggml_backend_tensor_get(graph->out, out, 0, sizeof out);
  for (int i = 0; i < OUT * ROWS; ++i) used += snprintf(line + used, sizeof line - (size_t)used, " %a", (double)out[i]);
  puts(line);
}

static bool own_callback(void* tensor, bool ask, void* user) {
  if (ask) {
    ++*(int*)user;
    return strcmp(ggml_get_name(tensor), "z") == 0;
  }
  printf("told of %s\n", ggml_get_name(tensor));
  return true;
}

static bool ending_callback(void* tensor, bool ask, void* user) { return own_callback(tensor, ask, user) && ask; }

static void compute(const char* mode, const char* title, int steps) {
  void* backend = ggml_backend_cpu_init();
  struct weights weights = make_weights(backend);
  void* scheduler = ggml_backend_sched_new(&backend, NULL, 1, GRAPH, false, true);
  int asked = 0;
  if (strcmp(mode, "callback") == 0) ggml_backend_sched_set_eval_callback(scheduler, own_callback, &asked);
  if (strcmp(mode, "end") == 0) ggml_backend_sched_set_eval_callback(scheduler, ending_callback, &asked);
  for (int step = 0; step < steps; ++step) {
    struct graph graph = make_graph(&weights);
    ggml_backend_sched_reset(scheduler);
    ggml_backend_sched_alloc_graph(scheduler, graph.graph);
    set_input(&graph, step);
    if (ggml_backend_sched_graph_compute(scheduler, graph.graph) != 0) puts("failed");
    if (strcmp(mode, "end") != 0) print_output(&graph, title);
    ggml_free(graph.context);
  }
  if (asked > 0) printf("asked %d times\n", asked);
  ggml_backend_sched_free(scheduler);
  ggml_backend_buffer_free(weights.buffer);
  ggml_free(weights.context);
  ggml_backend_free(backend);
}

static void compute_directly(void) {
  void* backend = ggml_backend_cpu_init();
  struct weights weights = make_weights(backend);
  struct graph graph = make_graph(&weights);
  ggml_backend_alloc_ctx_tensors(graph.context, backend);
  set_input(&graph, 0);
  if (ggml_backend_graph_compute(backend, graph.graph) != 0) puts("failed");
  print_output(&graph, "direct");
}

static pthread_barrier_t barrier;

static void* compute_in_thread(void* title) {
  pthread_barrier_wait(&barrier);
  compute("plain", title, 20);
  return NULL;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "plain";
  if (strcmp(mode, "direct") == 0) {
    compute_directly();
  } else if (strcmp(mode, "fork") == 0) {
    compute("plain", "first", 2);
    fflush(stdout);
    if (fork() == 0) {
      compute("plain", "second", 3);
      return 0;
    }
    int status = 1;
    wait(&status);
    return status;
  } else if (strcmp(mode, "threads") == 0) {
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&threads[0], NULL, compute_in_thread, "first");
    pthread_create(&threads[1], NULL, compute_in_thread, "second");
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  } else {
    compute(mode, "computed", strcmp(mode, "again") == 0 ? 10 : 2);
  }
  return 0;
}
