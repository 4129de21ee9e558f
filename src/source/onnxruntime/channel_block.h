// Channels in blocks: ONNX Runtime keeps images between its own convolutions as [N, C / block, H, W, block], with [N, C, H, W] as their dims.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_CHANNEL_BLOCK_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_CHANNEL_BLOCK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "source/onnxruntime/onnx_model.h"
#include "source/onnxruntime/runtime_library.h"

namespace tensortap::onnxruntime {

// By Node::index, whether the images that a node of an executed graph makes have their channels in blocks.
std::vector<bool> nodes_with_blocked_outputs(const Model& executed);

// How many channels are a block on this machine: found out by letting the library reorder numbers. Errors: it does not reorder as expected.
Result<uint32_t> channel_block_of(const std::shared_ptr<const RuntimeLibrary>& library);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_CHANNEL_BLOCK_H_
