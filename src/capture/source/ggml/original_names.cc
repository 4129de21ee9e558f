#include "source/ggml/original_names.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

constexpr std::string_view kLayer = "blk.";
constexpr std::string_view kLayers = "model.layers.";

struct Architecture {
  std::string_view name;
  std::string_view of_transformers;
};
constexpr auto kArchitectures = std::to_array<Architecture>({{"gemma", "GemmaForCausalLM"},
                                                             {"gemma2", "Gemma2ForCausalLM"},
                                                             {"gemma3", "Gemma3ForCausalLM"},
                                                             {"granite", "GraniteForCausalLM"},
                                                             {"llama", "LlamaForCausalLM"},
                                                             {"olmo2", "Olmo2ForCausalLM"},
                                                             {"olmoe", "OlmoeForCausalLM"},
                                                             {"phi3", "Phi3ForCausalLM"},
                                                             {"qwen2", "Qwen2ForCausalLM"},
                                                             {"qwen2moe", "Qwen2MoeForCausalLM"},
                                                             {"qwen3", "Qwen3ForCausalLM"},
                                                             {"qwen3moe", "Qwen3MoeForCausalLM"},
                                                             {"smollm3", "SmolLM3ForCausalLM"}});

struct Translation {
  std::string_view gguf;
  std::string_view of_transformers;
  std::string_view architectures = {};  // with blanks; "" = of all that no row before it is for
};
constexpr auto kTranslations = std::to_array<Translation>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
});
// Behind the number of the layer.
constexpr auto kInLayers = std::to_array<Translation>({
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_output", "self_attn.o_proj"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm", "gemma2 gemma3"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.gate_up_proj", "phi3"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "block_sparse_moe.gate", "llama"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts", "llama"},
    {"ffn_up_exps", "block_sparse_moe.experts", "llama"},
    {"ffn_down_exps", "block_sparse_moe.experts", "llama"},
    {"ffn_gate_exps", "mlp.experts"},
    {"ffn_up_exps", "mlp.experts"},
    {"ffn_down_exps", "mlp.experts"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
});

std::string_view translation_of(std::span<const Translation> table, std::string_view name, std::string_view architecture) {
  const auto fits = [&](const Translation& row) {
    if (row.gguf != name) return false;
    if (row.architectures.empty()) return true;
    const auto those = split(row.architectures, ' ');
    return std::ranges::find(those, architecture) != those.end();
  };
  const auto found = std::ranges::find_if(table, fits);
  return found == table.end() ? std::string_view() : found->of_transformers;
}

// What llama.cpp calls the values of attention: "Qcur", "kq_soft_max", "kqv_out", "cache_k_l3 (view)".
bool is_of_attention(std::string_view node, std::string_view op) {
  constexpr std::array<std::string_view, 4> kOps = {"FLASH_ATTN_EXT", "ROPE", "SET_ROWS", "SOFT_MAX"};
  constexpr std::array<std::string_view, 5> kNodes = {"Qcur", "Kcur", "Vcur", "kq", "cache_"};
  return std::ranges::find(kOps, op) != kOps.end() ||
         std::ranges::any_of(kNodes, [node](std::string_view begin) { return node.starts_with(begin); });
}

}  // namespace

OriginalNames::OriginalNames(std::string_view architecture) {
  const auto* const found = std::ranges::find(kArchitectures, architecture, &Architecture::name);
  if (found == kArchitectures.end()) return;
  architecture_ = found->name;
  class_ = found->of_transformers;
}

// "" = no translation.
std::string OriginalNames::path(std::string_view module) const {
  if (!are_known()) return {};
  if (!module.starts_with(kLayer)) return std::string(translation_of(kTranslations, module, architecture_));
  const std::string_view behind = module.substr(kLayer.size());
  const size_t dot = behind.find('.');
  const std::string_view layer = behind.substr(0, dot);
  if (!is_digits(layer)) return {};
  if (dot == std::string_view::npos) return concat(kLayers, layer);
  const std::string_view name = translation_of(kInLayers, behind.substr(dot + 1), architecture_);
  return name.empty() ? std::string() : concat(kLayers, layer, ".", name);
}

std::string OriginalNames::module(std::string_view module) const {
  const std::string translated = path(module);
  return translated.empty() ? std::string(module) : concat(class_, ".", translated);
}

std::string OriginalNames::module_of_reader(std::string_view module, std::string_view op) const {
  return this->module(are_known() && module == "token_embd" && op == "MUL_MAT" ? "output" : module);
}

std::string OriginalNames::module_of_op(std::string_view layer, std::string_view node, std::string_view op) const {
  const std::string translated = path(layer);
  if (translated.empty()) return std::string(layer);
  if (node.starts_with("ffn_") && !node.starts_with("ffn_inp")) {
    const bool of_experts = node.starts_with("ffn_moe_");
    if (architecture_ == "llama" && of_experts) return concat(class_, ".", translated, ".block_sparse_moe");
    return concat(class_, ".", translated, architecture_ == "qwen2moe" && node.starts_with("ffn_swiglu") ? ".mlp.shared_expert" : ".mlp");
  }
  // llama.cpp picks the rows of the wanted tokens, which no module of the original does.
  if (op == "GET_ROWS") return concat(class_, ".model");
  return concat(class_, ".", translated, is_of_attention(node, op) ? ".self_attn" : "");
}

std::string OriginalNames::weight(std::string_view name) const {
  const size_t dot = name.rfind('.');
  const std::string translated = dot == std::string_view::npos ? std::string() : path(name.substr(0, dot));
  // The file has the weights of all experts in one tensor, the original has them otherwise.
  return translated.empty() || translated.ends_with(".experts") ? std::string(name) : concat(translated, name.substr(dot));
}

}  // namespace tensortap::ggml
