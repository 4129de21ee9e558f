#include "source/onnxruntime/taps/event_sender.h"

#include <algorithm>

#include "source/onnxruntime/model/plain_image.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "tensor/number_formats.h"

namespace tensortap::onnxruntime {
namespace {

// What tensortap_parallel_for gets as its pool.
struct Pool {
  const Api* api;
  const abi::KernelContext* context;
};

void parallel_for(void* pool, void (*task)(void* context, size_t index), size_t count, void* context) {
  const auto& self = *static_cast<const Pool*>(pool);
  if (self.api->call(ort::kKernelContextParallelFor, self.context, task, count, size_t{0}, context).ok()) return;
  for (size_t i = 0; i < count; ++i) task(context, i);
}

// Memory for the tensors of one event, kept per thread so that a steady run allocates nothing.
struct EventScratch {
  std::vector<tensortap_tensor> tensors;
  std::vector<TensorScratch> views;
  std::vector<std::vector<unsigned char>> repacked;
  std::vector<PlainImage> images;

  void reserve(size_t count) {
    tensors.resize(count);
    if (views.size() < count) views.resize(count);
    if (repacked.size() < count) repacked.resize(count);
    if (images.size() < count) images.resize(count);
  }
};

EventScratch& scratch() {
  static thread_local EventScratch memory;
  return memory;
}

// What tensortap_show_reads gets.
struct Reads {
  const FiredTap& fired;
  uint32_t channel_block;
  std::vector<tensortap_tensor> tensors{};
  std::vector<TensorScratch> views{};
  std::vector<PlainImage> images{};
};

uint64_t tell_reads(Reads& reads) {
  const FiredTap& fired = reads.fired;
  const size_t count = fired.tap.reads.size();
  reads.views.resize(count);
  reads.images.resize(count);
  auto* get_input = fired.api.find(ort::kKernelContextGetInput);
  for (size_t i = 0; i < count; ++i) {
    const abi::Value* value = nullptr;
    tensortap_tensor tensor{};
    if (abi::Status* status = get_input(fired.context, fired.tap.slots.size() + i, &value)) {
      fired.api.find(ort::kReleaseStatus)(status);
      continue;
    }
    if (value == nullptr || !view_tensor(fired.api, value, reads.views[i], tensor).ok()) continue;
    const TapRead& read = fired.tap.reads[i];
    reads.images[i].describe(read.channels, reads.channel_block, tensor);
    tensor.slot_kind = TENSORTAP_SLOT_INPUT;
    tensor.slot_index = read.input;
    reads.tensors.push_back(tensor);
  }
  return reads.tensors.size();
}

uint64_t show_reads(void* context, const tensortap_tensor** tensors) noexcept {
  auto& reads = *static_cast<Reads*>(context);
  try {
    const uint64_t count = tell_reads(reads);
    *tensors = reads.tensors.data();
    return count;
  } catch (...) {
    return 0;  // out of memory: the op is captured without what it read
  }
}

tensortap_op_event event_of(tensortap_op_id op, const Run& run) {
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = op;
  event.step = run.step;
  event.run = run.number;
  event.phase = TENSORTAP_PHASE_INFERENCE;
  event.moment = TENSORTAP_MOMENT_AFTER;
  event.duration_ns = -1;
  return event;
}

// An input of the graph: one tensor, or the elements of a sequence, with what they borrow from.
struct InputTensors {
  std::vector<OwnedValue> elements;
  std::vector<TensorScratch> views;
  std::vector<tensortap_tensor> tensors;
};

// False for values without tensors, such as maps.
bool view_input(const Api& api, const abi::Value* value, InputTensors& input) {
  int32_t type = 0;
  if (!api.call(ort::kGetValueType, value, &type).ok()) return false;
  if (type == abi::kValueSequence) {
    auto elements = elements_of(api, value);
    if (!elements.ok()) return false;
    input.elements = *std::move(elements);
  } else if (type != abi::kValueTensor) {
    return false;
  }
  const size_t count = type == abi::kValueSequence ? input.elements.size() : 1;
  input.views.resize(count);
  for (size_t i = 0; i < count; ++i) {
    tensortap_tensor tensor{};
    if (!view_tensor(api, type == abi::kValueSequence ? input.elements[i].get() : value, input.views[i], tensor).ok()) return false;
    if (type == abi::kValueSequence) tensor.element = static_cast<int64_t>(i);
    input.tensors.push_back(tensor);
  }
  return count > 0;
}

}  // namespace

void repack(int32_t element_type, std::vector<unsigned char>& memory, tensortap_tensor& tensor) {
  const DTypeInfo& original = onnxruntime::element_type(element_type);
  const uint64_t count = element_count({tensor.dims, tensor.rank}).value_or(0);
  if (tensor.data == nullptr || count == 0) return;
  memory.resize(packed_bytes(original.dtype, count).value_or(0));
  if (original.dtype == DType::kFloat8E8M0 && tensor.dtype == TENSORTAP_FLOAT32) {
    for (uint64_t i = 0; i < count; ++i) memory[i] = float_to_float8_e8m0(static_cast<const float*>(tensor.data)[i]);
  } else if (original.bits < 8 && (tensor.dtype == TENSORTAP_INT8 || tensor.dtype == TENSORTAP_UINT8)) {
    pack_elements(tensor.data, count, original.bits, memory.data());
  } else {
    return;
  }
  tensor.dtype = static_cast<uint32_t>(original.dtype);
  tensor.data = memory.data();
}

EventSender::EventSender(tensortap_session* session, const OpTable& table, OpIds ids, const SenderOptions& options)
    : session_(session),
      table_(table),
      ids_(std::move(ids)),
      told_(new std::atomic<bool>[ids_.size()]()),
      every_tap_((static_cast<uint32_t>(tensortap_wants_reads(session)) & TENSORTAP_WANTS_PASSED_ON) != 0),
      parallel_(options.parallel),
      channel_block_(options.channel_block) {}

bool EventSender::wants(const Tap& tap, const Run& run) {
  const uint32_t entry = entry_of(tap);
  if (!has_news(tap) && told_[entry].load(std::memory_order_relaxed)) return false;
  return tensortap_wants(session_, ids_[entry], run.step) != 0;
}

void EventSender::on_tap(const FiredTap& fired, const Run& run) {
  EventScratch& memory = scratch();
  memory.reserve(fired.values.size());
  size_t count = 0;
  for (size_t i = 0; i < fired.values.size(); ++i) {
    tensortap_tensor& tensor = memory.tensors[count];
    if (fired.values[i] == nullptr || !view_tensor(fired.api, fired.values[i], memory.views[i], tensor).ok()) continue;
    const TapSlot& slot = fired.tap.slots[i];
    if (slot.element_type != 0) repack(slot.element_type, memory.repacked[i], tensor);
    memory.images[i].describe(slot.channels, channel_block_, tensor);
    if (slot.shown_again) tensor.flags |= TENSORTAP_TENSOR_SHOWN_AGAIN;
    tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;
    tensor.slot_index = slot.output;
    tensor.element = fired.element;
    ++count;
  }
  if (count == 0) return;
  const uint32_t entry = entry_of(fired.tap);
  if (!has_news(fired.tap)) told_[entry].store(true, std::memory_order_relaxed);
  tensortap_op_event event = event_of(ids_[entry], run);
  event.duration_ns = fired.duration_ns;
  // An op of the main graph runs once in a run.
  if (fired.tap.depth == 0 && fired.tap.kind == TapKind::kOutputs) event.call = 1;
  event.tensors = memory.tensors.data();
  event.tensor_count = count;
  Reads reads{fired, channel_block_};
  if (!fired.tap.reads.empty()) {
    event.show_reads = &show_reads;
    event.reads = &reads;
  }
  Pool pool{&fired.api, fired.context};
  if (parallel_) {
    event.parallel_for = &parallel_for;
    event.pool = &pool;
  }
  tensortap_on_op(session_, &event);
}

bool EventSender::begin(const Run& run) { return tensortap_step_begin_kind(session_, run.step, run.number, run.kind) != 0; }

void EventSender::end(const Run& run) { tensortap_step_end(session_, run.step, run.number); }

void EventSender::send_inputs(const Api& api, const std::vector<NamedValue>& inputs, const Run& run, const TappedSession* tapped) {
  for (size_t i = 0; i < table_.entries.size() && table_.entries[i].role != OpRole::kNode; ++i) {
    if (table_.entries[i].role != OpRole::kInput || tensortap_wants(session_, ids_[i], run.step) == 0) continue;
    const auto input = std::ranges::find(inputs, table_.entries[i].value, &NamedValue::name);
    if (input == inputs.end()) continue;
    InputTensors tensors;
    if (!view_input(api, input->value, tensors)) continue;
    const bool shown_again = tapped != nullptr && tapped->shown_inputs().contains(input->name);
    for (tensortap_tensor& tensor : tensors.tensors) {
      tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;
      if (shown_again) tensor.flags |= TENSORTAP_TENSOR_SHOWN_AGAIN;
    }
    tensortap_op_event event = event_of(ids_[i], run);
    event.call = 1;
    event.tensors = tensors.tensors.data();
    event.tensor_count = tensors.tensors.size();
    tensortap_on_op(session_, &event);
  }
}

void EventSender::send_failure(const Api& api, uint32_t entry, const std::vector<ReadValue>& inputs, const Run& run,
                               const std::string& message) {
  std::vector<TensorScratch> views(inputs.size());
  std::vector<PlainImage> images(inputs.size());
  std::vector<tensortap_tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensortap_tensor tensor{};
    if (inputs[i].weight != nullptr) {
      tensor = *inputs[i].weight;
    } else if (inputs[i].value == nullptr || !view_tensor(api, inputs[i].value, views[i], tensor).ok()) {
      continue;
    } else {
      images[i].describe(inputs[i].channels, channel_block_, tensor);
    }
    tensor.slot_kind = TENSORTAP_SLOT_INPUT;
    tensor.slot_index = static_cast<uint32_t>(i);
    tensors.push_back(tensor);
  }
  tensortap_op_event event = event_of(ids_[entry], run);
  event.moment = TENSORTAP_MOMENT_BEFORE;
  event.tensors = tensors.data();
  event.tensor_count = tensors.size();
  tensortap_op_failed(session_, &event, message.c_str());
}

}  // namespace tensortap::onnxruntime
