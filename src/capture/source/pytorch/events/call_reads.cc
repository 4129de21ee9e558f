#include "source/pytorch/events/call_reads.h"

#include <span>
#include <vector>

#include "base/silenced.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {
namespace {

bool is_where_it_was(const ReadArgument& read, const tensortap_torch_tensor& now) {
  return now.slot == read.slot && now.element == read.element && now.storage == read.storage && now.data == read.data &&
         now.storage_bytes >= read.storage_bytes;
}

tensortap_tensor gone(const ReadArgument& read) {
  tensortap_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.slot_index = read.slot;
  tensor.element = read.element;
  tensor.flags = TENSORTAP_TENSOR_GONE;
  return tensor;
}

void gather_shown(const ShownReads& reads) {
  TorchCapture& capture = *reads.pending.capture;
  const tensortap_torch_tensor* arguments = nullptr;
  const uint32_t count = reads.call->show_arguments == nullptr ? 0 : reads.call->show_arguments(reads.call->shown_arguments, &arguments);
  std::span<const tensortap_torch_tensor> there(arguments, count);
  reads.calls.shown.clear();
  for (const ReadArgument& read : reads.pending.read) {
    // Both lists have the order of the schema.
    while (!there.empty() && (there[0].slot < read.slot || (there[0].slot == read.slot && there[0].element < read.element))) {
      there = there.subspan(1);
    }
    tensortap_tensor told;
    const bool shown = !there.empty() && is_where_it_was(read, there[0]) &&
                       capture.describe(*reads.pending.identity, there[0], capture.storages.look(there[0], reads.calls.met), told);
    if (!shown) told = gone(read);
    told.slot_kind = TENSORTAP_SLOT_INPUT;
    reads.calls.shown.push_back(told);
  }
}

}  // namespace

ReadArgument argument_of(const tensortap_torch_tensor& tensor) {
  return {tensor.storage, tensor.data, tensor.storage_bytes, tensor.slot, tensor.element};
}

bool leaves_out(PendingCall& pending, const tensortap_torch_tensor& tensor, const StorageContent& content) {
  const TorchOperator& op = pending.capture->runtime.operators[pending.identity->op];
  if (!content.unwritten || tensor.slot >= 64 || (op.written >> tensor.slot & 1U) == 0 || op.name_space == "aten") return false;
  pending.left.note(tensor);
  return true;
}

void gather_what_it_writes_over(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  const std::span all(call.tensors, call.tensor_count);
  calls.tensors.clear();
  pending.read.clear();
  if (!pending.written.empty()) calls.written.assign(all);
  for (const tensortap_torch_tensor& tensor : all) {
    const bool described = tensor.kind == TENSORTAP_TORCH_STRIDED || tensor.kind == TENSORTAP_TORCH_DEVICE;
    if (!described) {
      tensortap_tensor nothing;
      static_cast<void>(pending.capture->describe(*pending.identity, tensor, {}, nothing));
      continue;
    }
    const bool is_written = !pending.written.empty() && calls.written.reaches(tensor);
    const StorageContent content = is_written ? pending.capture->storages.look(tensor, calls.met) : StorageContent{};
    if (is_written && leaves_out(pending, tensor, content)) continue;
    pending.read.push_back(argument_of(tensor));
    if (!is_written) continue;
    tensortap_tensor told;
    if (!pending.capture->describe(*pending.identity, tensor, content, told)) continue;
    told.slot_kind = TENSORTAP_SLOT_INPUT;
    calls.tensors.push_back(told);
  }
}

void gather_what_it_left(const ShownReads& reads) {
  gather_shown(reads);
  std::vector<tensortap_tensor>& shown = reads.calls.shown;
  std::erase_if(shown, [](const tensortap_tensor& tensor) { return (tensor.flags & TENSORTAP_TENSOR_GONE) != 0; });
  reads.calls.tensors.insert(reads.calls.tensors.begin(), shown.begin(), shown.end());
}

uint64_t show_reads(void* reads, const tensortap_tensor** tensors) noexcept {
  return silenced(uint64_t{0}, [=] {
    const auto& shown = *static_cast<const ShownReads*>(reads);
    gather_shown(shown);
    *tensors = shown.calls.shown.data();
    return uint64_t{shown.calls.shown.size()};
  });
}

}  // namespace tensortap::pytorch
