#include "source/pytorch/events/index_arguments.h"

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <vector>

#include "base/text.h"

namespace tensortap::pytorch {
namespace {

struct AnArgument {
  std::vector<int64_t> values;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;

  tensortap_torch_tensor in(uint32_t slot, int32_t element = -1, uint32_t dtype = TENSORTAP_INT64) const {
    tensortap_torch_tensor tensor{};
    tensor.data = values.data();
    tensor.dims = dims.data();
    tensor.strides = strides.data();
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dtype = dtype;
    tensor.kind = TENSORTAP_TORCH_STRIDED;
    tensor.slot = slot;
    tensor.element = element;
    return tensor;
  }
};

const AnArgument kTable{{0}, {10, 4}, {4, 1}};

TorchOperator an_operator(const std::string& type, std::vector<std::string> arguments) {
  return {concat("aten::", type), "", type, "aten", std::move(arguments), 1, 0, 0};
}

TEST(IndexArguments, TheFirstOneOutOfRangeIsNamedWithItsPlace) {
  const TorchOperator embedding = an_operator("embedding", {"weight", "indices"});
  const AnArgument transposed{{1, 2, 12, 4, 5, -1}, {3, 2}, {1, 3}};
  const std::vector<tensortap_torch_tensor> call = {kTable.in(0, -1, TENSORTAP_FLOAT32), transposed.in(1)};
  EXPECT_EQ(index_out_of_range(embedding, call), "index 12 at [2, 0] of in1 (indices) is outside 0..9, the range of dimension 0 of in0");
}

TEST(IndexArguments, WhatIsInRangeOrNoIndexIsNotNamed) {
  const AnArgument fine{{0, 9}, {2}, {1}};
  const AnArgument none{{}, {0}, {1}};
  const std::vector<tensortap_torch_tensor> call = {kTable.in(0), fine.in(1), none.in(1)};
  EXPECT_EQ(index_out_of_range(an_operator("embedding", {}), call), "");
  EXPECT_EQ(index_out_of_range(an_operator("mul", {}), call), "");
  EXPECT_EQ(index_out_of_range(an_operator("embedding", {}), {}), "");
}

TEST(IndexArguments, IndicesOfAListAreForADimensionEach) {
  const AnArgument rows{{-10, 9}, {2}, {1}};
  const AnArgument columns{{3, -5}, {2}, {1}};
  const std::vector<tensortap_torch_tensor> call = {kTable.in(0), rows.in(1, 0), columns.in(1, 1)};
  EXPECT_EQ(index_out_of_range(an_operator("index", {"self", "indices"}), call),
            "index -5 at [1] of in1[1] (indices) is outside -4..3, the range of dimension 1 of in0");
}

TEST(IndexArguments, ClassesOfALossMayBeIgnored) {
  const AnArgument classes{{3, -100, 4}, {3}, {1}};
  const std::vector<tensortap_torch_tensor> call = {kTable.in(0), classes.in(1)};
  EXPECT_EQ(index_out_of_range(an_operator("nll_loss_forward", {"self", "target"}), call),
            "index 4 at [2] of in1 (target) is outside 0..3, the range of dimension 1 of in0");
}

TEST(IndexArguments, WhereTheDimensionIsNotKnownTheRangeIsSaid) {
  const AnArgument indices{{3, 11}, {2}, {1}};
  const std::vector<tensortap_torch_tensor> call = {kTable.in(0), indices.in(2)};
  EXPECT_EQ(index_out_of_range(an_operator("gather", {"self", "", "index"}), call),
            "the indices of in2 (index) are from 3 to 11, in0 has the shape [10, 4]");
}

}  // namespace
}  // namespace tensortap::pytorch
