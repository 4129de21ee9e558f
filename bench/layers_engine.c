/* layers_engine OPS STEPS FOLDER: an engine that reports the ops of bench/web_model.py's network, without computing anything, so that a
 * dump of 100,000 ops or a million records is made in seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <tensortap/capture.h>

enum { kLayerOps = 20, kMostInputs = 2, kOutside = -1, kBefore = -2 };

struct layer_op {
  const char* name;
  const char* type;
  int inputs[kMostInputs]; /* places in the layer; kBefore: what the layer before gave; kOutside: a constant, or none */
};

static const struct layer_op kLayer[kLayerOps] = {
    {"attention/norm", "Mul", {kBefore, kOutside}},
    {"attention/project_q", "MatMul", {0, kOutside}},
    {"attention/project_k", "MatMul", {0, kOutside}},
    {"attention/project_v", "MatMul", {0, kOutside}},
    {"attention/bias_q", "Add", {1, kOutside}},
    {"attention/bias_k", "Add", {2, kOutside}},
    {"attention/bias_v", "Add", {3, kOutside}},
    {"attention/turn", "Transpose", {5, kOutside}},
    {"attention/scores", "MatMul", {4, 7}},
    {"attention/mask", "Add", {8, kOutside}},
    {"attention/softmax", "Softmax", {9, kOutside}},
    {"attention/mix", "MatMul", {10, 6}},
    {"attention/project", "MatMul", {11, kOutside}},
    {"add", "Add", {12, kBefore}},
    {"mlp/norm", "Mul", {13, kOutside}},
    {"mlp/up", "MatMul", {14, kOutside}},
    {"mlp/act", "Tanh", {15, kOutside}},
    {"mlp/down", "MatMul", {16, kOutside}},
    {"add2", "Add", {17, 13}},
    {"norm", "Tanh", {18, kOutside}},
};

static tensortap_op_id add_op(tensortap_session* session, const tensortap_op_id* made, int number) {
  const int layer = number / kLayerOps;
  const struct layer_op* op = &kLayer[number % kLayerOps];
  char name[128];
  snprintf(name, sizeof name, "/layer.%d/block.%d/%s", layer / 10, layer % 10, op->name);
  const char* outputs[] = {name};
  const char* inputs[kMostInputs] = {"constant", "constant"};
  tensortap_op_id producers[kMostInputs] = {TENSORTAP_NO_OP, TENSORTAP_NO_OP};
  for (int i = 0; i < kMostInputs; ++i) {
    const int place = op->inputs[i] == kBefore ? layer * kLayerOps - 1 : layer * kLayerOps + op->inputs[i];
    if (op->inputs[i] == kOutside || place < 0) continue;
    producers[i] = made[place];
    inputs[i] = "value";
  }
  const tensortap_op described = {.size = sizeof described,
                                  .name = name,
                                  .type = op->type,
                                  .inputs = inputs,
                                  .producers = producers,
                                  .input_count = kMostInputs,
                                  .outputs = outputs,
                                  .output_count = 1,
                                  .parent = TENSORTAP_NO_OP};
  return tensortap_register_op(session, &described);
}

static void run_steps(tensortap_session* session, const tensortap_op_id* ops, int count, int steps) {
  float values[32];
  const int64_t dims[] = {4, 8};
  const tensortap_tensor output = {
      .size = sizeof output, .dtype = TENSORTAP_FLOAT32, .data = values, .dims = dims, .rank = 2, .element = -1};
  for (int step = 0; step < steps; ++step) {
    if (!tensortap_step_begin(session, step, 0)) continue;
    for (int number = 0; number < count; ++number) {
      for (int i = 0; i < 32; ++i) values[i] = (float)(number % 997) * 0.01F + (float)i - (float)step;
      const tensortap_op_event event = {
          .size = sizeof event, .op = ops[number], .step = step, .duration_ns = -1, .tensors = &output, .tensor_count = 1};
      tensortap_on_op(session, &event);
    }
    tensortap_step_end(session, step, 0);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int count = atoi(argv[1]);
  char config[4096], message[512];
  snprintf(config, sizeof config, "{\"limits\": {\"keep_free\": 0}, \"out\": \"%s\"}", argv[3]);
  const tensortap_session_options options = {
      .size = sizeof options, .version = TENSORTAP_CAPTURE_VERSION, .config = config, .source = "layers 1.0", .program = "layers"};
  tensortap_session* session = NULL;
  tensortap_op_id* ops = calloc((size_t)count, sizeof *ops);
  if (ops == NULL || tensortap_session_open(&options, &session, message, sizeof message) != TENSORTAP_OK) {
    fprintf(stderr, "layers_engine: %s\n", ops == NULL ? "no memory" : message);
    return 1;
  }
  for (int number = 0; number < count; ++number) ops[number] = add_op(session, ops, number);
  run_steps(session, ops, count, atoi(argv[2]));
  free(ops);
  return tensortap_session_close(session) == TENSORTAP_OK ? 0 : 1;
}
