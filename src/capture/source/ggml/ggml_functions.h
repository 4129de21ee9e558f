// The functions of one loaded copy of ggml that the source calls, as ggml.h and ggml-backend.h declare them.

#ifndef TENSORTAP_SOURCE_GGML_GGML_FUNCTIONS_H_
#define TENSORTAP_SOURCE_GGML_GGML_FUNCTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tensortap::ggml {

// struct ggml_init_params
struct InitParameters {
  size_t bytes;
  void* memory;
  bool no_alloc;
};

// Called with ask = true before a node is computed: whether its value is wanted. Then, for a wanted one, with ask = false when it was
// computed: false ends the computation.
using EvalCallback = bool (*)(void* tensor, bool ask, void* user);
using DequantizeRow = void (*)(const void* blocks, float* values, int64_t count);

// struct ggml_cgraph, whose size releases change. No release comes near this one.
struct GraphBytes {
  alignas(16) std::array<std::byte, 1024> bytes;
};

// ggml_backend_buffer_usage
inline constexpr int kUsageWeights = 1;
inline constexpr int kUsageCompute = 2;

// A function that the copy does not export is null. The first group is in every copy that find_functions() accepts.
struct GgmlFunctions {
  void* (*init)(InitParameters) = nullptr;
  void (*free)(void* context) = nullptr;
  void* (*new_tensor_4d)(void* context, int type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) = nullptr;
  void* (*add)(void* context, void* a, void* b) = nullptr;
  void* (*mul)(void* context, void* a, void* b) = nullptr;
  void* (*view_1d)(void* context, void* a, int64_t ne0, size_t offset) = nullptr;
  size_t (*tensor_overhead)() = nullptr;
  const char* (*get_name)(const void* tensor) = nullptr;
  void* (*set_name)(void* tensor, const char* name) = nullptr;
  void* (*get_data)(const void* tensor) = nullptr;
  const char* (*op_name)(int op) = nullptr;
  const char* (*op_desc)(const void* tensor) = nullptr;
  const char* (*type_name)(int type) = nullptr;
  size_t (*type_size)(int type) = nullptr;
  int64_t (*blck_size)(int type) = nullptr;
  size_t (*nbytes)(const void* tensor) = nullptr;
  void* (*buffer_from_ptr)(void* memory, size_t bytes) = nullptr;
  void (*buffer_free)(void* buffer) = nullptr;
  const char* (*buffer_name)(void* buffer) = nullptr;
  bool (*buffer_is_host)(void* buffer) = nullptr;
  int (*tensor_alloc)(void* buffer, void* tensor, void* address) = nullptr;
  void (*tensor_get)(const void* tensor, void* to, size_t offset, size_t bytes) = nullptr;
  void (*set_eval_callback)(void* scheduler, EvalCallback callback, void* user) = nullptr;
  void (*set_input)(void* tensor) = nullptr;
  void (*set_output)(void* tensor) = nullptr;
  void* (*new_graph)(void* context) = nullptr;
  void (*build_forward_expand)(void* graph, void* tensor) = nullptr;

  int (*buffer_usage)(void* buffer) = nullptr;
  const char* (*version)() = nullptr;
  int (*graph_n_nodes)(void* graph) = nullptr;
  void* (*graph_node)(void* graph, int index) = nullptr;
  GraphBytes (*graph_view)(void* graph, int begin, int end) = nullptr;
  void (*synchronize)(void* backend) = nullptr;
};

// `handle` is of the object that has ggml's scheduler, `other` of one to search behind it. On failure the name of the first function that
// is missing, otherwise "".
std::string find_functions(void* handle, void* other, GgmlFunctions& functions);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GGML_FUNCTIONS_H_
