/* A library with the names of ggml's functions, for tests/ggml_library_test.py: it arranges tensors as no release does.
 *
 * FAKE_AMBIGUOUS: the type of a tensor stands at two places. FAKE_MISSING: ggml_op_desc is missing. FAKE_HIDDEN: a scheduler keeps the
 * callback elsewhere. FAKE_DIRECT: a backend computes the graph, not a scheduler. FAKE_NO_VIEWS: there is no ggml_graph_view.
 * FAKE_WRONG_VIEWS: its graphs have other nodes. The graph of run_fake_ggml() is sum = a + b, product = sum * b, of 6 numbers, and
 * unchosen = idle * b, which is not computed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 6, OBJECT = 32, ROOM = 1 << 17 };

struct ggml_init_params {
  size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};
struct tensor {
  char name[64];
  void* data;
  void* extra;
  int64_t ne[4];
  size_t nb[4];
  int32_t op;
  int32_t type;
#ifdef FAKE_AMBIGUOUS
  int64_t type_again;
#else
  int64_t unused;
#endif
  struct tensor* src[SOURCES];
  struct tensor* view_src;
  size_t view_offs;
  void* buffer;
  int32_t flags; /* 1 input, 2 output, 16 computed */
};
struct context {
  char* memory;
  size_t used, size;
  bool no_alloc;
};
struct graph {
  int32_t capacity, n_nodes, n_leafs;
  struct tensor** nodes;
};
typedef bool eval_callback(void* tensor, bool ask, void* user);
struct scheduler {
  int64_t other[9];
  struct callbacks {
    eval_callback* function;
    void* user;
  } own;
  struct callbacks* elsewhere;
};

static const char* const kOps[] = {"NONE", "DUP", "ADD", "MUL", "VIEW"};

void* ggml_init(struct ggml_init_params parameters) {
  struct context* context = calloc(1, sizeof *context);
  context->memory = parameters.mem_buffer != NULL ? parameters.mem_buffer : calloc(1, parameters.mem_size);
  context->size = parameters.mem_size;
  context->no_alloc = parameters.no_alloc;
  return context;
}
void ggml_free(void* context) { free(context); }

size_t ggml_type_size(int type) { return type == 0 ? 4 : type == 1 ? 2 : 34; }
int64_t ggml_blck_size(int type) { return type == 8 ? 32 : 1; }
const char* ggml_type_name(int type) { return type == 0 ? "f32" : type == 1 ? "f16" : type == 8 ? "q8_0" : "i32"; }

static void* take(struct context* context, size_t bytes) {
  void* taken = context->memory + context->used;
  context->used += (bytes + 63) / 64 * 64;
  return context->used <= context->size ? taken : NULL;
}

static struct tensor* make(struct context* context, int type, const int64_t* ne, int op) {
  struct tensor* made = take(context, OBJECT + sizeof *made);
  made = (struct tensor*)((char*)made + OBJECT);
  made->type = type;
  made->op = op;
#ifdef FAKE_AMBIGUOUS
  made->type_again = type;
#endif
  memcpy(made->ne, ne, sizeof made->ne);
  made->nb[0] = ggml_type_size(type);
  made->nb[1] = made->nb[0] * (size_t)(ne[0] / ggml_blck_size(type));
  made->nb[2] = made->nb[1] * (size_t)ne[1];
  made->nb[3] = made->nb[2] * (size_t)ne[2];
  if (!context->no_alloc && op != 4) made->data = take(context, made->nb[3] * (size_t)ne[3]);
  return made;
}
void* ggml_new_tensor_4d(void* context, int type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  const int64_t ne[4] = {ne0, ne1, ne2, ne3};
  return make(context, type, ne, 0);
}
static void* combine(void* context, struct tensor* a, struct tensor* b, int op) {
  struct tensor* made = make(context, a->type, a->ne, op);
  made->src[0] = a;
  made->src[1] = b;
  return made;
}
void* ggml_add(void* context, void* a, void* b) { return combine(context, a, b, 2); }
void* ggml_mul(void* context, void* a, void* b) { return combine(context, a, b, 3); }
void* ggml_view_1d(void* context, void* of, int64_t ne0, size_t offset) {
  const int64_t ne[4] = {ne0, 1, 1, 1};
  struct tensor* whole = of;
  struct tensor* made = make(context, whole->type, ne, 4);
  made->src[0] = whole;
  made->view_src = whole;
  made->view_offs = offset;
  made->data = (char*)whole->data + offset;
  return made;
}
size_t ggml_tensor_overhead(void) { return OBJECT + sizeof(struct tensor); }
const char* ggml_get_name(const void* tensor) { return ((const struct tensor*)tensor)->name; }
void ggml_set_name(void* tensor, const char* name) { strncpy(((struct tensor*)tensor)->name, name, 63); }
void ggml_set_input(void* tensor) { ((struct tensor*)tensor)->flags |= 1; }
void ggml_set_output(void* tensor) { ((struct tensor*)tensor)->flags |= 2; }
void* ggml_get_data(const void* tensor) { return ((const struct tensor*)tensor)->data; }
const char* ggml_op_name(int op) { return op < 5 ? kOps[op] : "X"; }
#ifndef FAKE_MISSING
const char* ggml_op_desc(const void* tensor) { return kOps[((const struct tensor*)tensor)->op]; }
#endif
size_t ggml_nbytes(const void* tensor) { return ((const struct tensor*)tensor)->nb[3] * (size_t)((const struct tensor*)tensor)->ne[3]; }
void* ggml_backend_cpu_buffer_from_ptr(void* memory, size_t bytes) {
  void** buffer = calloc(2, sizeof *buffer);
  buffer[0] = memory;
  buffer[1] = (void*)bytes;
  return buffer;
}
void ggml_backend_buffer_free(void* buffer) { free(buffer); }
const char* ggml_backend_buffer_name(void* buffer) { return buffer != NULL ? "CPU" : ""; }
bool ggml_backend_buffer_is_host(void* buffer) { return buffer != NULL; }
int ggml_backend_tensor_alloc(void* buffer, void* tensor, void* address) {
  ((struct tensor*)tensor)->buffer = buffer;
  ((struct tensor*)tensor)->data = address;
  return 0;
}
void ggml_backend_tensor_get(const void* tensor, void* to, size_t offset, size_t bytes) {
  memcpy(to, (const char*)((const struct tensor*)tensor)->data + offset, bytes);
}
void ggml_backend_sched_set_eval_callback(void* scheduler, eval_callback* callback, void* user) {
  struct scheduler* given = scheduler;
  struct callbacks* place = given->elsewhere != NULL ? given->elsewhere : &given->own;
  place->function = callback;
  place->user = user;
}

/* The nodes of a graph stand behind it. A node comes after its sources. */
void* ggml_new_graph(void* context) {
  struct graph* made = take(context, ROOM);
  made->capacity = 64;
  made->nodes = (struct tensor**)(made + 1);
  return made;
}
void ggml_build_forward_expand(void* graph, void* tensor) {
  struct graph* into = graph;
  struct tensor* node = tensor;
  for (int i = 0; i < into->n_nodes; ++i) {
    if (into->nodes[i] == node) return;
  }
  for (int i = 0; i < SOURCES; ++i) {
    if (node->src[i] != NULL) ggml_build_forward_expand(graph, node->src[i]);
  }
  if (node->op == 0) return;
  node->flags |= 16;
  into->nodes[into->n_nodes++] = node;
}

static void compute_node(struct tensor* node) {
  float* out = node->data;
  if ((node->flags & 16) == 0) return;
  const float *a = node->src[0]->data, *b = node->src[1]->data;
  for (int64_t i = 0; i < node->ne[0]; ++i) out[i] = node->op == 2 ? a[i] + b[i] : a[i] * b[i];
}
int ggml_backend_sched_graph_compute(void* scheduler, void* graph) {
  const struct scheduler* by = scheduler;
  const struct callbacks* callbacks = by->elsewhere != NULL ? by->elsewhere : &by->own;
  const struct graph* given = graph;
  for (int i = 0; i < given->n_nodes; ++i) {
    struct tensor* node = given->nodes[i];
    const bool wanted = callbacks->function != NULL && callbacks->function(node, true, callbacks->user);
    compute_node(node);
    if (wanted && !callbacks->function(node, false, callbacks->user)) break;
  }
  return 0;
}

#ifndef FAKE_NO_VIEWS
struct graph ggml_graph_view(void* graph, int begin, int end) {
  struct graph view = *(const struct graph*)graph;
#ifndef FAKE_WRONG_VIEWS
  view.nodes += begin;
#endif
  view.n_nodes = end - begin;
  return view;
}
#endif
void ggml_backend_synchronize(void* backend) { (void)backend; }
int ggml_backend_graph_compute(void* backend, void* graph) {
  (void)backend;
  const struct graph* given = graph;
  for (int i = 0; i < given->n_nodes; ++i) compute_node(given->nodes[i]);
  return 0;
}

/* Returns the sum over product. */
float run_fake_ggml(void) {
  const struct ggml_init_params parameters = {1 << 20, NULL, false};
  struct context* context = ggml_init(parameters);
  struct tensor* a = ggml_new_tensor_4d(context, 0, 6, 1, 1, 1);
  struct tensor* b = ggml_new_tensor_4d(context, 0, 6, 1, 1, 1);
  ggml_set_name(a, "a");
  ggml_set_name(b, "b");
  for (int i = 0; i < 6; ++i) ((float*)a->data)[i] = (float)i, ((float*)b->data)[i] = 2;
  struct tensor* sum = ggml_add(context, a, b);
  struct tensor* product = ggml_mul(context, sum, b);
  ggml_set_name(sum, "sum");
  ggml_set_name(product, "product");
  void* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, product);
  /* A branch that the program did not choose: its values mean nothing. */
  struct tensor* idle = ggml_new_tensor_4d(context, 0, 6, 1, 1, 1);
  struct tensor* unchosen = ggml_mul(context, idle, b);
  ggml_set_name(idle, "idle");
  ggml_set_name(unchosen, "unchosen");
  memset(idle->data, 0xff, 24);
  memset(unchosen->data, 0xff, 24);
  ggml_build_forward_expand(graph, unchosen);
  unchosen->flags = 0;
  struct scheduler* scheduler = calloc(1, 8192);
#ifdef FAKE_HIDDEN
  scheduler->elsewhere = calloc(1, sizeof *scheduler->elsewhere);
#endif
#ifdef FAKE_DIRECT
  ggml_backend_graph_compute(scheduler, graph);
#else
  ggml_backend_sched_graph_compute(scheduler, graph);
#endif
  float all = 0;
  for (int i = 0; i < 6; ++i) all += ((const float*)product->data)[i];
  free(scheduler);
  return all;
}

/* As llama.cpp's, between two calls of which it warms a model up. */
static bool is_warming;
void llama_set_warmup(void* context, bool is_on) {
  (void)context;
  is_warming = is_on;
}
bool is_fake_llama_warming(void) { return is_warming; }
