// A toy runtime whose tensors live in blocks of memory that operators read, view and write into, and that tells so as capture.h has it.

#ifndef TENSORTAP_TESTS_TOY_MEMORY_H_
#define TENSORTAP_TESTS_TOY_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "toy_engine.h"

namespace toy {

// A block of memory with its number and the number of its content.
struct Block {
  uint64_t storage = 0;
  uint64_t version = 0;
  std::vector<float> values;
};

// A view of a block.
struct Tensor {
  std::shared_ptr<Block> block;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // empty = contiguous
  uint32_t flags = 0;

  [[nodiscard]] tensortap_tensor c(uint32_t kind, uint32_t slot) const {
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = block->values.data();
    tensor.dims = dims.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.slot_kind = kind;
    tensor.slot_index = slot;
    tensor.flags = flags;
    tensor.element = -1;
    tensor.storage = block->storage;
    tensor.version = block->version;
    return tensor;
  }
};

class MemoryEngine {
 public:
  explicit MemoryEngine(tensortap_session* session) : session_(session) {}

  Tensor make(std::vector<float> values) {
    auto block = std::make_shared<Block>(Block{++storages_, ++versions_, std::move(values)});
    return {block, {static_cast<int64_t>(block->values.size())}, {}, 0};
  }
  // As an operator that writes into the block does. A lying engine does not tell.
  void write(const Tensor& tensor, std::vector<float> values, bool lies = false) {
    tensor.block->values.assign(values.begin(), values.end());
    if (!lies) tensor.block->version = ++versions_;
  }

  [[nodiscard]] static std::vector<tensortap_tensor> list(const std::vector<Tensor>& tensors, uint32_t kind) {
    std::vector<tensortap_tensor> all;
    for (const Tensor& tensor : tensors) all.push_back(tensor.c(kind, static_cast<uint32_t>(all.size())));
    return all;
  }
  // What an execution reads, told before it runs.
  void reads(tensortap_op_id op, const std::vector<Tensor>& inputs, uint32_t call = 0) const {
    const auto all = list(inputs, TENSORTAP_SLOT_INPUT);
    tensortap_op_event event = event_of(op, step, all.data(), all.size(), run);
    event.flags = TENSORTAP_EVENT_READ_FIRST;
    event.call = call;
    event.phase = phase;
    tensortap_on_op(session_, &event);
  }
  void makes(tensortap_op_id op, const std::vector<Tensor>& outputs, uint32_t call = 0) const {
    const auto all = list(outputs, TENSORTAP_SLOT_OUTPUT);
    tensortap_op_event event = event_of(op, step, all.data(), all.size(), run);
    event.call = call;
    event.phase = phase;
    tensortap_on_op(session_, &event);
  }
  void fails(tensortap_op_id op, const std::vector<Tensor>& inputs, uint32_t call = 0) const {
    const auto all = list(inputs, TENSORTAP_SLOT_INPUT);
    tensortap_op_event event = event_of(op, step, all.data(), all.size(), run);
    event.call = call;
    event.phase = phase;
    tensortap_op_failed(session_, &event, "it broke");
  }
  Tensor runs(tensortap_op_id op, const std::vector<Tensor>& inputs, std::vector<float> made) {
    reads(op, inputs);
    Tensor output = make(std::move(made));
    makes(op, {output});
    return output;
  }

  int64_t step = 0;
  uint64_t run = 0;
  uint32_t phase = TENSORTAP_PHASE_INFERENCE;

 private:
  tensortap_session* session_;
  uint64_t storages_ = 0;
  uint64_t versions_ = 0;
};

inline std::vector<float> ramp(size_t count, float first) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

}  // namespace toy

#endif  // TENSORTAP_TESTS_TOY_MEMORY_H_
