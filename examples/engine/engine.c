/* A toy engine, y = relu(x * w) over three steps, that reports its operators through capture.h: all that an engine has to do. */
#include <math.h>
#include <stdio.h>
#include <tensortap/capture.h>

enum { kRows = 2, kInner = 3, kColumns = 4, kSteps = 3 };

static void matmul(const float* x, const float* w, float* y) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      y[i * kColumns + j] = 0;
      for (int k = 0; k < kInner; ++k) y[i * kColumns + j] += x[i * kInner + k] * w[k * kColumns + j];
    }
  }
}

static void relu(const float* x, float* y) {
  for (int i = 0; i < kRows * kColumns; ++i) y[i] = fmaxf(x[i], 0);
}

/* Says that `op` ran in `step` and made `data`. */
static void report(tensortap_session* session, tensortap_op_id op, int64_t step, const float* data) {
  const int64_t dims[] = {kRows, kColumns};
  tensortap_tensor output = {.size = sizeof output, .dtype = TENSORTAP_FLOAT32, .data = data, .dims = dims, .rank = 2, .element = -1};
  tensortap_op_event event = {.size = sizeof event, .op = op, .step = step, .duration_ns = -1, .tensors = &output, .tensor_count = 1};
  tensortap_on_op(session, &event);
}

int main(int argc, char** argv) {
  char message[512];
  tensortap_session* session = NULL;
  const tensortap_session_options options = {.size = sizeof options,
                                             .version = TENSORTAP_CAPTURE_VERSION,
                                             .config = argc > 1 ? argv[1] : NULL,
                                             .source = "engine 1.0",
                                             .program = "relu(x * w)"};
  /* A program that cannot be captured runs all the same: every function accepts a null session. */
  if (tensortap_session_open(&options, &session, message, sizeof message) != TENSORTAP_OK) fprintf(stderr, "engine: %s\n", message);

  const char* products[] = {"product"};
  const char* outputs[] = {"y"};
  const tensortap_op matmul_op = {
      .size = sizeof matmul_op, .name = "multiply", .type = "MatMul", .outputs = products, .output_count = 1, .parent = TENSORTAP_NO_OP};
  const tensortap_op_id multiply = tensortap_register_op(session, &matmul_op);
  const tensortap_op relu_op = {.size = sizeof relu_op,
                                .name = "activate",
                                .type = "Relu",
                                .inputs = products,
                                .producers = &multiply,
                                .input_count = 1,
                                .outputs = outputs,
                                .output_count = 1,
                                .parent = TENSORTAP_NO_OP};
  const tensortap_op_id activate = tensortap_register_op(session, &relu_op);
  if (tensortap_bind(session, message, sizeof message) != TENSORTAP_OK) fprintf(stderr, "engine: %s\n", message);

  const float w[kInner * kColumns] = {1, -1, 2, 0, 0, 1, -2, 1, 1, 1, 1, -1};
  float product[kRows * kColumns], y[kRows * kColumns];
  for (int64_t step = 0; step < kSteps; ++step) {
    const float x[kRows * kInner] = {1, 2, 3, (float)step, -1, 0.5F};
    const int captured = tensortap_step_begin(session, step, 0);
    matmul(x, w, product);
    if (captured) report(session, multiply, step, product);
    relu(product, y);
    if (captured) report(session, activate, step, y);
    tensortap_step_end(session, step, 0);
  }
  printf("%g %g\n", (double)y[0], (double)y[4]);
  return tensortap_session_close(session) == TENSORTAP_OK ? 0 : 1;
}
