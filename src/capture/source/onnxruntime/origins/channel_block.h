// Channels in blocks: ONNX Runtime keeps images between its own convolutions as [N, C / block, H, W, block], with [N, C, H, W] as their
// dims.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_CHANNEL_BLOCK_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_CHANNEL_BLOCK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "source/onnxruntime/runtime/runtime_library.h"

namespace tensortap::onnxruntime {

// A model that puts the channels of its input "x", float[1, 128, 1, 2], into blocks, and how many channels are a block by its output "y",
// when "x" is
// 0, 1, 2 and so on. Errors: they are not reordered as expected.
std::string reordering_model();
inline constexpr size_t kReorderedNumbers = 256;
Result<uint32_t> channel_block_in(std::span<const float> reordered);

// How many channels are a block on this machine: found out by letting the library reorder numbers. Errors: it does not reorder as expected.
Result<uint32_t> channel_block_of(const std::shared_ptr<const RuntimeLibrary>& library);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_CHANNEL_BLOCK_H_
