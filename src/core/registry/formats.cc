#include <algorithm>

#include "format/dump_data/dump_data.h"
#include "format/msit_bin/msit_bin.h"
#include "format/msit_bin/msit_bin_file.h"
#include "format/npy/npy.h"
#include "format/npz/npz.h"
#include "format/onnx_tensor/onnx_group.h"
#include "format/onnx_tensor/onnx_tensor.h"
#include "format/safetensors/safetensors.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr Format kFormats[] = {
    {"npy", "one tensor as NumPy saves it", ".npy", npy_holds, npy_recognise, npy_decode, npy_encode},
    {"npz", "named tensors as NumPy saves them", ".npz", npz_holds, npz_recognise, npz_decode, npz_encode},
    {"onnx-tensor", "one TensorProto of ONNX", ".pb", onnx_tensor_holds, onnx_tensor_recognise, onnx_tensor_decode, nullptr,
     onnx_group_decode},
    {"dump_data", "the tensors of one op as AscendCL writes them", ".dump_data", dump_data_row_holds, dump_data_recognise, dump_data_decode,
     dump_data_encode},
    {"msit_bin", "one tensor as msit llm dump writes it", ".bin", msit_bin_holds, msit_bin_recognise, msit_bin_decode, msit_bin_encode,
     nullptr, msit_bin_describe, false},
    {"safetensors", "named tensors as Hugging Face saves them", ".safetensors", safetensors_holds, safetensors_recognise,
     safetensors_decode, safetensors_encode},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace tensortap
