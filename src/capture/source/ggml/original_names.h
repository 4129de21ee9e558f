// What transformers calls the modules and weights of a model, by what llama.cpp calls these.

#ifndef TENSORTAP_SOURCE_GGML_ORIGINAL_NAMES_H_
#define TENSORTAP_SOURCE_GGML_ORIGINAL_NAMES_H_

#include <string>
#include <string_view>

namespace tensortap::ggml {

struct OriginalArchitecture;

// Of one architecture, or of none: then each name stays as it is, as does a name that has no translation. Immutable.
class OriginalNames {
 public:
  OriginalNames() = default;
  // `architecture` as GGUF files tell it: "llama".
  explicit OriginalNames(std::string_view architecture);

  // Whether the architecture is one of those whose names are known.
  [[nodiscard]] bool are_known() const { return architecture_ != nullptr; }
  // "LlamaForCausalLM.model.layers.0.self_attn.q_proj" of "blk.0.attn_q".
  [[nodiscard]] std::string module(std::string_view module) const;
  // The module that this one is in: "BertModel.encoder.layer.0.output" of "blk.0.layer_output_norm".
  [[nodiscard]] std::string module_around(std::string_view module) const;
  // The module of an op that reads a weight of this one. A model without output weights multiplies with those of its tokens.
  [[nodiscard]] std::string module_of_reader(std::string_view module, std::string_view op) const;
  // The module of an op that reads no weight and belongs to a layer: "LlamaForCausalLM.model.layers.0.mlp" of "blk.0", "ffn_swiglu-0".
  [[nodiscard]] std::string module_of_op(std::string_view layer, std::string_view node, std::string_view op) const;
  // "model.layers.0.self_attn.q_proj.weight" of "blk.0.attn_q.weight".
  [[nodiscard]] std::string weight(std::string_view name) const;

 private:
  [[nodiscard]] std::string path(std::string_view module) const;

  // "LlamaForCausalLM.model" of "model".
  [[nodiscard]] std::string in_class(std::string_view path) const;

  const OriginalArchitecture* architecture_ = nullptr;  // of a table; null = not known
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_ORIGINAL_NAMES_H_
