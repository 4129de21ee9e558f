/* A program over ggml's own interface, for tests/ggml_library_test.py, linked to the libraries of the package libggml-python.
 *
 * ggml_program MODE: plain; callback (it has an evaluation callback); end (its callback ends the computation); threads (two schedulers at
 * the same time); again (ten steps); fork (a child computes, too). Without a scheduler, in memory that the nodes of a graph share: direct
 * (a backend gets the graph); async (which does not wait for it); aborted (the program ends the second step); plan; context
 * (all tensors are in memory of a context); both (a plan computes what a scheduler did, again). Prints what it computed, and the calls
 * of the callback. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
int ggml_backend_graph_compute_async(void* backend, void* graph);
void ggml_backend_synchronize(void* backend);
typedef bool abort_callback(void* user);
void ggml_backend_cpu_set_abort_callback(void* backend, abort_callback* callback, void* user);
void ggml_backend_cpu_set_n_threads(void* backend, int threads);
/* The members behind the first two depend on the release. */
struct ggml_cplan {
  size_t work_size;
  uint8_t* work_data;
  int64_t other[30];
};
struct ggml_cplan ggml_graph_plan(const void* graph, int threads, void* pool);
int ggml_graph_compute(void* graph, struct ggml_cplan* plan);
int ggml_graph_compute_with_ctx(void* context, void* graph, int threads);
void* ggml_get_data(const void* tensor);
void* ggml_backend_get_default_buffer_type(void* backend);
void* ggml_gallocr_new(void* buffer_type);
bool ggml_gallocr_alloc_graph(void* allocator, void* graph);
void ggml_gallocr_free(void* allocator);
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

/* Sets or gets a tensor, which may be in memory of a context. */
static void set(void* tensor, const void* data, size_t bytes, const void* buffer) {
  if (buffer != NULL) ggml_backend_tensor_set(tensor, data, 0, bytes);
  if (buffer == NULL) memcpy(ggml_get_data(tensor), data, bytes);
}

/* Without a backend in memory of the context. */
static struct weights make_weights(void* backend) {
  const struct ggml_init_params parameters = {1 << 16, NULL, backend != NULL};
  struct weights made = {ggml_init(parameters), NULL, NULL, NULL};
  made.w = ggml_new_tensor_2d(made.context, 0, IN, OUT);
  made.b = ggml_new_tensor_2d(made.context, 0, OUT, 1);
  ggml_set_name(made.w, "layer.weight");
  ggml_set_name(made.b, "layer.bias");
  if (backend != NULL) made.buffer = ggml_backend_alloc_ctx_tensors(made.context, backend);
  if (backend != NULL) ggml_backend_buffer_set_usage(made.buffer, WEIGHTS_USAGE);
  float w[IN * OUT], b[OUT];
  for (int i = 0; i < IN * OUT; ++i) w[i] = (float)(i % 7) * 0.25f - 0.5f;
  for (int i = 0; i < OUT; ++i) b[i] = (float)i * 0.125f;
  set(made.w, w, sizeof w, made.buffer);
  set(made.b, b, sizeof b, made.buffer);
  return made;
}

static struct graph make_graph(const struct weights* weights) {
  const struct ggml_init_params parameters = {1 << 20, NULL, weights->buffer != NULL};
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

static void set_input(const struct graph* graph, int step, const void* buffer) {
  float x[IN * ROWS];
  for (int i = 0; i < IN * ROWS; ++i) x[i] = (float)((i + step) % 5) - 1.5f;
  set(graph->x, x, sizeof x, buffer);
}

static void print_output(const struct graph* graph, const char* title, const void* buffer) {
  float out[OUT * ROWS];
  char line[1024];
  int used = snprintf(line, sizeof line, "%s", title);
  if (buffer != NULL) ggml_backend_tensor_get(graph->out, out, 0, sizeof out);
  if (buffer == NULL) memcpy(out, ggml_get_data(graph->out), sizeof out);
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

static int compute_by_plan(void* graph) {
  struct ggml_cplan plan = ggml_graph_plan(graph, 2, NULL);
  plan.work_data = malloc(plan.work_size + 1);
  const int status = ggml_graph_compute(graph, &plan);
  free(plan.work_data);
  return status;
}

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
    set_input(&graph, step, weights.buffer);
    if (ggml_backend_sched_graph_compute(scheduler, graph.graph) != 0) puts("failed");
    if (strcmp(mode, "end") != 0) print_output(&graph, title, weights.buffer);
    if (strcmp(mode, "both") == 0) {
      set_input(&graph, step, weights.buffer);
      if (compute_by_plan(graph.graph) != 0) puts("failed");
      print_output(&graph, title, weights.buffer);
    }
    ggml_free(graph.context);
  }
  if (asked > 0) printf("asked %d times\n", asked);
  ggml_backend_sched_free(scheduler);
  ggml_backend_buffer_free(weights.buffer);
  ggml_free(weights.context);
  ggml_backend_free(backend);
}

/* Ends the computation at its 7th call: in the second step, behind the third of its 4 nodes that compute. */
static bool aborts_later(void* calls) { return ++*(int*)calls == 7; }

static int compute_without_scheduler(const char* mode, void* backend, const struct graph* graph) {
  if (strcmp(mode, "context") == 0) return ggml_graph_compute_with_ctx(graph->context, graph->graph, 2);
  if (strcmp(mode, "plan") == 0) return compute_by_plan(graph->graph);
  if (strcmp(mode, "async") != 0) return ggml_backend_graph_compute(backend, graph->graph);
  const int status = ggml_backend_graph_compute_async(backend, graph->graph);
  ggml_backend_synchronize(backend);
  return status;
}

static void compute_directly(const char* mode, int steps) {
  void* backend = ggml_backend_cpu_init();
  const bool in_context = strcmp(mode, "context") == 0;
  struct weights weights = make_weights(in_context ? NULL : backend);
  void* allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
  int calls = 0;
  ggml_backend_cpu_set_n_threads(backend, 2);
  if (strcmp(mode, "aborted") == 0) ggml_backend_cpu_set_abort_callback(backend, aborts_later, &calls);
  for (int step = 0; step < steps; ++step) {
    struct graph graph = make_graph(&weights);
    if (!in_context) ggml_gallocr_alloc_graph(allocator, graph.graph);
    set_input(&graph, step, weights.buffer);
    const int status = compute_without_scheduler(mode, backend, &graph);
    if (status == 0) print_output(&graph, "direct", weights.buffer);
    if (status != 0) printf("direct %d after %d calls\n", status, calls);
    ggml_free(graph.context);
  }
  ggml_gallocr_free(allocator);
  if (weights.buffer != NULL) ggml_backend_buffer_free(weights.buffer);
  ggml_free(weights.context);
  ggml_backend_free(backend);
}

static pthread_barrier_t barrier;

static void* compute_in_thread(void* title) {
  pthread_barrier_wait(&barrier);
  compute("plain", title, 20);
  return NULL;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "plain";
  const char* const without_scheduler[] = {"direct", "async", "aborted", "plan", "context"};
  for (size_t i = 0; i < sizeof without_scheduler / sizeof *without_scheduler; ++i) {
    if (strcmp(mode, without_scheduler[i]) == 0) return compute_directly(mode, 3), 0;
  }
  if (strcmp(mode, "fork") == 0) {
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
