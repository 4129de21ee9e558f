#include "source/ggml/ggml_functions.h"

#include <dlfcn.h>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

class FunctionSearch {
 public:
  FunctionSearch(void* handle, void* other) : handle_(handle), other_(other) {}

  template <class Function>
  void optional(const char* name, Function*& function) {
    void* address = dlsym(handle_, name);
    if (address == nullptr && other_ != nullptr) address = dlsym(other_, name);
    function = reinterpret_cast<Function*>(address);
  }

  template <class Function>
  void required(const char* name, Function*& function) {
    optional(name, function);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  void* other_;
  std::string missing_;
};

}  // namespace

std::string find_functions(void* handle, void* other, GgmlFunctions& functions) {
  FunctionSearch search(handle, other);
  search.required("ggml_init", functions.init);
  search.required("ggml_free", functions.free);
  search.required("ggml_new_tensor_4d", functions.new_tensor_4d);
  search.required("ggml_add", functions.add);
  search.required("ggml_mul", functions.mul);
  search.required("ggml_view_1d", functions.view_1d);
  search.required("ggml_tensor_overhead", functions.tensor_overhead);
  search.required("ggml_get_name", functions.get_name);
  search.required("ggml_set_name", functions.set_name);
  search.required("ggml_get_data", functions.get_data);
  search.required("ggml_op_name", functions.op_name);
  search.required("ggml_op_desc", functions.op_desc);
  search.required("ggml_type_name", functions.type_name);
  search.required("ggml_type_size", functions.type_size);
  search.required("ggml_blck_size", functions.blck_size);
  search.required("ggml_nbytes", functions.nbytes);
  search.required("ggml_backend_cpu_buffer_from_ptr", functions.buffer_from_ptr);
  search.required("ggml_backend_buffer_free", functions.buffer_free);
  search.required("ggml_backend_buffer_name", functions.buffer_name);
  search.required("ggml_backend_buffer_is_host", functions.buffer_is_host);
  search.required("ggml_backend_tensor_alloc", functions.tensor_alloc);
  search.required("ggml_backend_tensor_get", functions.tensor_get);
  search.required("ggml_backend_sched_set_eval_callback", functions.set_eval_callback);
  search.required("ggml_set_input", functions.set_input);
  search.required("ggml_set_output", functions.set_output);
  search.required("ggml_new_graph", functions.new_graph);
  search.required("ggml_build_forward_expand", functions.build_forward_expand);
  search.optional("ggml_backend_buffer_get_usage", functions.buffer_usage);
  search.optional("ggml_version", functions.version);
  search.optional("ggml_graph_n_nodes", functions.graph_n_nodes);
  search.optional("ggml_graph_node", functions.graph_node);
  search.optional("ggml_graph_view", functions.graph_view);
  search.optional("ggml_backend_synchronize", functions.synchronize);
  return search.missing();
}

}  // namespace tensortap::ggml
