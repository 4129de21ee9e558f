#include "source/ggml/original_names.h"

#include <gtest/gtest.h>

namespace tensortap::ggml {
namespace {

TEST(OriginalNames, OfModulesAndWeightsAreThoseOfTransformers) {
  const OriginalNames names("llama");
  ASSERT_TRUE(names.are_known());
  EXPECT_EQ(names.module("token_embd"), "LlamaForCausalLM.model.embed_tokens");
  EXPECT_EQ(names.module("blk.11.attn_q"), "LlamaForCausalLM.model.layers.11.self_attn.q_proj");
  EXPECT_EQ(names.module("blk.0"), "LlamaForCausalLM.model.layers.0");
  EXPECT_EQ(names.weight("blk.0.ffn_norm.weight"), "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(names.weight("output.weight"), "lm_head.weight");
}

TEST(OriginalNames, OfOpsThatReadNoWeightAreThoseOfTheirPartOfTheLayer) {
  const OriginalNames names("llama");
  EXPECT_EQ(names.module_of_op("blk.0", "Qcur-0", "ROPE"), "LlamaForCausalLM.model.layers.0.self_attn");
  EXPECT_EQ(names.module_of_op("blk.0", "kq_soft_max-0", "SOFT_MAX"), "LlamaForCausalLM.model.layers.0.self_attn");
  EXPECT_EQ(names.module_of_op("blk.3", "ffn_swiglu-3", "SWIGLU"), "LlamaForCausalLM.model.layers.3.mlp");
  for (const char* of_layer : {"ffn_inp-3", "l_out-3"})
    EXPECT_EQ(names.module_of_op("blk.3", of_layer, "ADD"), "LlamaForCausalLM.model.layers.3") << of_layer;
}

TEST(OriginalNames, DependOnTheArchitecture) {
  EXPECT_EQ(OriginalNames("gemma3").weight("blk.0.ffn_norm.weight"), "model.layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(OriginalNames("qwen3").weight("blk.0.ffn_norm.weight"), "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(OriginalNames("qwen3moe").module("blk.0.ffn_gate_inp"), "Qwen3MoeForCausalLM.model.layers.0.mlp.gate");
}

TEST(OriginalNames, OfOtherArchitecturesHaveOtherPaths) {
  const OriginalNames gpt2("gpt2");
  EXPECT_EQ(gpt2.weight("blk.7.attn_qkv.weight"), "transformer.h.7.attn.c_attn.weight");
  EXPECT_EQ(gpt2.module_of_op("blk.7", "ffn_gelu-7", "GELU"), "GPT2LMHeadModel.transformer.h.7.mlp.act");
  EXPECT_EQ(gpt2.module_of_op("blk.7", "node_60", "GET_ROWS"), "GPT2LMHeadModel.transformer");
  const OriginalNames bert("bert");
  EXPECT_EQ(bert.module("blk.1.attn_output_norm"), "BertModel.encoder.layer.1.attention.output.LayerNorm");
  EXPECT_EQ(bert.module_around("blk.1.attn_output_norm"), "BertModel.encoder.layer.1.attention.output");
  EXPECT_EQ(bert.module_of_op("blk.1", "node_35", "FLASH_ATTN_EXT"), "BertModel.encoder.layer.1.attention.self");
  EXPECT_EQ(bert.module_of_op("blk.1", "node_63", "GET_ROWS"), "BertModel");
  EXPECT_EQ(OriginalNames("phi2").module("output_norm"), "PhiForCausalLM.model.final_layernorm");
  EXPECT_EQ(OriginalNames("starcoder2").weight("blk.0.ffn_up.bias"), "model.layers.0.mlp.c_fc.bias");
}

TEST(OriginalNames, OfWeightsThatAFileHasInOneTensorStay) {
  const OriginalNames names("nomic-bert");
  EXPECT_EQ(names.module("blk.1.attn_qkv"), "NomicBertModel.layers.1.self_attn");
  EXPECT_EQ(names.weight("blk.1.attn_qkv.weight"), "blk.1.attn_qkv.weight");
  EXPECT_EQ(OriginalNames("stablelm").weight("blk.1.attn_q_norm.weight"), "blk.1.attn_q_norm.weight");
  EXPECT_EQ(names.weight("blk.1.attn_output_norm.bias"), "layers.1.post_attention_layernorm.bias");
}

TEST(OriginalNames, AroundAModuleOfGgufAreThoseOfTheLayer) {
  EXPECT_EQ(OriginalNames().module_around("blk.1.attn_output_norm"), "blk.1");
  EXPECT_EQ(OriginalNames().module_around("output_norm"), "output_norm");
}

TEST(OriginalNames, OfExpertsAreThoseOfTheirModuleAndTheirWeightsStay) {
  const OriginalNames names("qwen2moe");
  EXPECT_EQ(names.module("blk.1.ffn_up_exps"), "Qwen2MoeForCausalLM.model.layers.1.mlp.experts");
  EXPECT_EQ(names.weight("blk.1.ffn_up_exps.weight"), "blk.1.ffn_up_exps.weight");
  EXPECT_EQ(names.module_of_op("blk.1", "ffn_moe_probs-1", "SOFT_MAX"), "Qwen2MoeForCausalLM.model.layers.1.mlp");
  EXPECT_EQ(names.module_of_op("blk.1", "ffn_moe_weights-1", "GET_ROWS"), "Qwen2MoeForCausalLM.model.layers.1.mlp");
  EXPECT_EQ(names.module_of_op("blk.1", "ffn_swiglu-1", "SWIGLU"), "Qwen2MoeForCausalLM.model.layers.1.mlp.shared_expert");
  EXPECT_EQ(OriginalNames("llama").module("blk.1.ffn_down_exps"), "LlamaForCausalLM.model.layers.1.block_sparse_moe.experts");
}

TEST(OriginalNames, OfAnOutputWithoutWeightsIsTheOutput) {
  const OriginalNames names("gemma2");
  EXPECT_EQ(names.module_of_reader("token_embd", "MUL_MAT"), "Gemma2ForCausalLM.lm_head");
  EXPECT_EQ(names.module_of_reader("token_embd", "GET_ROWS"), "Gemma2ForCausalLM.model.embed_tokens");
  EXPECT_EQ(OriginalNames().module_of_reader("token_embd", "MUL_MAT"), "token_embd");
}

TEST(OriginalNames, WithoutTranslationStay) {
  const OriginalNames llama("llama");
  for (const char* name : {"blk.0.attn_rot_embd", "blk.x.attn_q", "blk.", "rope_freqs", ""}) EXPECT_EQ(llama.module(name), name);
  for (const char* name : {"leaf_5", "blk.0.ffn_gate_exps.weight", ""}) EXPECT_EQ(llama.weight(name), name);
  const OriginalNames unknown("gptneox");
  EXPECT_FALSE(unknown.are_known());
  EXPECT_EQ(unknown.module("blk.0.attn_q"), "blk.0.attn_q");
  EXPECT_EQ(unknown.module_of_op("blk.0", "kq-0", "MUL_MAT"), "blk.0");
  EXPECT_EQ(OriginalNames().weight("token_embd.weight"), "token_embd.weight");
}

}  // namespace
}  // namespace tensortap::ggml
