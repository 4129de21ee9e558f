// What the names of ggml's tensors say.

#ifndef TENSORTAP_SOURCE_GGML_NODE_NAMES_H_
#define TENSORTAP_SOURCE_GGML_NODE_NAMES_H_

#include <string>
#include <string_view>

namespace tensortap::ggml {

// The name of the tensor that a scheduler copied to another backend: "Qcur-0" of "CUDA0#Qcur-0#0". Other names are themselves.
std::string_view without_copy(std::string_view name);

// Whether ggml made the name, from the tensor's place in its graph: "node_12", "leaf_3 (view)", "".
bool is_numbered(std::string_view name);

// Whether the name is that of a mask, whose purpose are its negative infinities.
bool is_mask(std::string_view name);

// Whether an op only describes values that are in memory: "VIEW", "RESHAPE", ... It computes nothing.
bool is_view_op(std::string_view op);

// The module of a weight: "blk.0.attn_q" of "blk.0.attn_q.weight"; "" of names that are no paths.
std::string_view module_of_weight(std::string_view name);

// The layer that a module is in: "blk.3" of "blk.3.attn_q"; "" = none.
std::string layer_of_module(std::string_view module);

// The module that the name of another tensor tells: "blk.3" of "kq-3", "cache_k_l3 (view)"; "" = none.
std::string module_of_node(std::string_view name);

// Whether a name is that of a weight in a model's file. For tensors without a buffer, and copies of ggml that do not know its purpose.
bool is_weight_name(std::string_view name);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_NODE_NAMES_H_
