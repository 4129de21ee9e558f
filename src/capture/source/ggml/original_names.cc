#include "source/ggml/original_names.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace tensortap::ggml {

// Paths without the class.
struct OriginalArchitecture {
  std::string_view name;                      // in GGUF
  std::string_view of_transformers;           // the class
  std::string_view layers = "model.layers.";  // before the number of a layer
  std::string_view model = "model";           // what has the layers
  std::string_view attention = "self_attn";   // in a layer, so the following
  std::string_view feed_forward = "mlp";
  std::string_view activation = "mlp";  // of a feed forward without a gate
};

namespace {

constexpr std::string_view kLayer = "blk.";

constexpr auto kArchitectures = std::to_array<OriginalArchitecture>({
    {"bert", "BertModel", "encoder.layer.", "", "attention.self", "intermediate", "intermediate.intermediate_act_fn"},
    {"gemma", "GemmaForCausalLM"},
    {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "Gemma3ForCausalLM"},
    {"gpt2", "GPT2LMHeadModel", "transformer.h.", "transformer", "attn", "mlp", "mlp.act"},
    {"granite", "GraniteForCausalLM"},
    {"llama", "LlamaForCausalLM"},
    {"nomic-bert", "NomicBertModel", "layers.", ""},
    {"olmo2", "Olmo2ForCausalLM"},
    {"olmoe", "OlmoeForCausalLM"},
    {"phi2", "PhiForCausalLM", "model.layers.", "model", "self_attn", "mlp", "mlp.activation_fn"},
    {"phi3", "Phi3ForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen2moe", "Qwen2MoeForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},
    {"qwen3moe", "Qwen3MoeForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"},
    {"stablelm", "StableLmForCausalLM"},
    {"starcoder2", "Starcoder2ForCausalLM", "model.layers.", "model", "self_attn", "mlp", "mlp.act"},
});

struct Translation {
  std::string_view gguf;
  std::string_view of_transformers;
  std::string_view architectures = {};  // with blanks; "" = of all that no row before it is for
};
constexpr auto kTranslations = std::to_array<Translation>({
    {"token_embd", "embeddings.word_embeddings", "bert nomic-bert"},
    {"token_embd", "transformer.wte", "gpt2"},
    {"token_embd", "model.embed_tokens"},
    {"token_embd_norm", "embeddings.LayerNorm", "bert nomic-bert"},
    {"token_types", "embeddings.token_type_embeddings", "bert nomic-bert"},
    {"position_embd", "embeddings.position_embeddings", "bert"},
    {"position_embd", "transformer.wpe", "gpt2"},
    {"output_norm", "transformer.ln_f", "gpt2"},
    {"output_norm", "model.final_layernorm", "phi2"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
});
// Behind the number of the layer.
constexpr auto kInLayers = std::to_array<Translation>({
    {"attn_norm", "ln_1", "gpt2"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "attention.self.query", "bert"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "attention.self.key", "bert"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "attention.self.value", "bert"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "attn.c_attn", "gpt2"},
    {"attn_qkv", "self_attn", "nomic-bert phi2"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_q_norm", "self_attn.q_layernorm", "stablelm"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_layernorm", "stablelm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_output", "attention.output.dense", "bert"},
    {"attn_output", "attn.c_proj", "gpt2"},
    {"attn_output", "self_attn.dense", "phi2"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_output_norm", "attention.output.LayerNorm", "bert"},
    {"attn_output_norm", "post_attention_layernorm", "nomic-bert"},
    {"layer_output_norm", "output.LayerNorm", "bert"},
    {"layer_output_norm", "post_mlp_layernorm", "nomic-bert"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "ln_2", "gpt2"},
    {"ffn_norm", "pre_feedforward_layernorm", "gemma2 gemma3"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "intermediate.dense", "bert"},
    {"ffn_up", "mlp.c_fc", "gpt2 starcoder2"},
    {"ffn_up", "mlp.fc1", "phi2"},
    {"ffn_up", "mlp.gate_up_proj", "phi3"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "output.dense", "bert"},
    {"ffn_down", "mlp.c_proj", "gpt2 starcoder2"},
    {"ffn_down", "mlp.fc2", "phi2"},
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

// Whether a file has the weights of several modules below this one in one tensor.
bool joins_weights(std::string_view module) {
  constexpr std::array<std::string_view, 4> kJoined = {".experts", ".self_attn", ".self_attn.q_layernorm", ".self_attn.k_layernorm"};
  return std::ranges::any_of(kJoined, [module](std::string_view end) { return module.ends_with(end); });
}

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

// Behind the layer: ".self_attn", "" = what the layer does itself.
std::string part_of_layer(const OriginalArchitecture& architecture, std::string_view node, std::string_view op) {
  if (node.starts_with("ffn_moe_")) return architecture.name == "llama" ? ".block_sparse_moe" : ".mlp";
  if (architecture.name == "qwen2moe" && node.starts_with("ffn_swiglu")) return ".mlp.shared_expert";
  if (node.starts_with("ffn_gelu")) return concat(".", architecture.activation);
  if (node.starts_with("ffn_") && !node.starts_with("ffn_inp")) return concat(".", architecture.feed_forward);
  return is_of_attention(node, op) ? concat(".", architecture.attention) : std::string();
}

}  // namespace

OriginalNames::OriginalNames(std::string_view architecture) {
  const OriginalArchitecture* const found = std::ranges::find(kArchitectures, architecture, &OriginalArchitecture::name);
  if (found != kArchitectures.end()) architecture_ = found;
}

// "" = no translation.
std::string OriginalNames::path(std::string_view module) const {
  if (!are_known()) return {};
  if (!module.starts_with(kLayer)) return std::string(translation_of(kTranslations, module, architecture_->name));
  const std::string_view behind = module.substr(kLayer.size());
  const size_t dot = behind.find('.');
  const std::string_view layer = behind.substr(0, dot);
  if (!is_digits(layer)) return {};
  if (dot == std::string_view::npos) return concat(architecture_->layers, layer);
  const std::string_view name = translation_of(kInLayers, behind.substr(dot + 1), architecture_->name);
  return name.empty() ? std::string() : concat(architecture_->layers, layer, ".", name);
}

std::string OriginalNames::in_class(std::string_view path) const {
  return path.empty() ? std::string(architecture_->of_transformers) : concat(architecture_->of_transformers, ".", path);
}

std::string OriginalNames::module(std::string_view module) const {
  const std::string translated = path(module);
  return translated.empty() ? std::string(module) : in_class(translated);
}

std::string OriginalNames::module_around(std::string_view module) const {
  const std::string of_module = this->module(module);
  return of_module.substr(0, std::min(of_module.rfind('.'), of_module.size()));
}

std::string OriginalNames::module_of_reader(std::string_view module, std::string_view op) const {
  return this->module(are_known() && module == "token_embd" && op == "MUL_MAT" ? "output" : module);
}

std::string OriginalNames::module_of_op(std::string_view layer, std::string_view node, std::string_view op) const {
  const std::string translated = path(layer);
  if (translated.empty()) return std::string(layer);
  // llama.cpp picks the rows of the wanted tokens, which no module of the original does.
  const bool of_experts = node.starts_with("ffn_moe_");
  if (op == "GET_ROWS" && !of_experts) return in_class(architecture_->model);
  return in_class(concat(translated, part_of_layer(*architecture_, node, op)));
}

std::string OriginalNames::weight(std::string_view name) const {
  const size_t dot = name.rfind('.');
  const std::string translated = dot == std::string_view::npos ? std::string() : path(name.substr(0, dot));
  return translated.empty() || joins_weights(translated) ? std::string(name) : concat(translated, name.substr(dot));
}

}  // namespace tensortap::ggml
