#include "source/ggml/node_names.h"

#include <gtest/gtest.h>

#include <utility>

namespace tensortap::ggml {
namespace {

TEST(NodeNames, ACopyOfASchedulerHasTheNameOfWhatItIsACopyOf) {
  EXPECT_EQ(without_copy("CUDA0#Qcur-0#0"), "Qcur-0");
  EXPECT_EQ(without_copy("CPU#inp_pos#12"), "inp_pos");
  for (const char* other : {"Qcur-0", "", "#a#0", "a#0", "Vulkan0#a#b", "a##"}) EXPECT_EQ(without_copy(other), other);
}

TEST(NodeNames, ThatGgmlMadeAreNumbers) {
  for (const char* name : {"", "node_12", "leaf_3", "leaf_3 (view)", " (view)", "node_5 (copy of x)"})
    EXPECT_TRUE(is_numbered(name)) << name;
  for (const char* name : {"Qcur-0", "node", "node_", "node_x", "leaf_1x", "cache_k_l0 (view)"}) EXPECT_FALSE(is_numbered(name)) << name;
}

TEST(NodeNames, TellTheModule) {
  EXPECT_EQ(module_of_weight("blk.0.attn_q.weight"), "blk.0.attn_q");
  EXPECT_EQ(module_of_weight("leaf_5"), "");
  const std::pair<const char*, const char*> cases[] = {
      {"kq-3", "blk.3"},
      {"Qcur-11#2", "blk.11"},
      {"cache_k_l7 (view)", "blk.7"},
      {"l_out-0", "blk.0"},
      {"result_norm", ""},
      {"attn_inp_k_idxs", ""},
      {"x-", ""},
      {"a-1b", ""},
      {"", ""},
  };
  for (const auto& [name, module] : cases) EXPECT_EQ(module_of_node(name), module) << name;
}

TEST(NodeNames, OfViewsMasksAndWeightsAreKnown) {
  EXPECT_TRUE(is_view_op("PERMUTE"));
  EXPECT_FALSE(is_view_op("CONT"));
  EXPECT_TRUE(is_mask("attn_inp_KQ_mask"));
  EXPECT_FALSE(is_mask("inp_pos"));
  EXPECT_TRUE(is_weight_name("output_norm.weight"));
  EXPECT_FALSE(is_weight_name("weight-0"));
}

}  // namespace
}  // namespace tensortap::ggml
