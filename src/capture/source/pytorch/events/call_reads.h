// The reads of a call, if the session takes them from tensortap_show_reads. Tensors that the call may write over are reported before the
// call; the others are shown after it has run.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_READS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_READS_H_

#include <tensortap/capture.h>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/events/thread_calls.h"

namespace tensortap::pytorch {

// Whether an argument is unwritten memory for an operator that is not PyTorch's own and whose schema declares a write there. Such an
// operator reads nothing of the memory; the old contents are noted in `pending`.
bool leaves_out(PendingCall& pending, const tensortap_torch_tensor& tensor, const StorageContent& content);

// At the begin of a call: notes in `pending` the tensors that it reads, and gathers in calls.tensors those that it may write over.
void gather_what_it_writes_over(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call);

// Where an argument is at the begin of a call.
ReadArgument argument_of(const tensortap_torch_tensor& tensor);

// At the end of a call: what tensortap_show_reads gets. Lives as long as the event.
struct ShownReads {
  ThreadCalls& calls;
  const PendingCall& pending;
  const tensortap_torch_call* call;  // not null
};
// Shows everything that was noted, in that order. Tensors that are no longer where they were have the flag TENSORTAP_TENSOR_GONE. The array
// is that thread's calls.shown.
uint64_t show_reads(void* reads, const tensortap_tensor** tensors) noexcept;
// Puts the noted tensors that are still where they were in front of calls.tensors, as the call left them.
void gather_what_it_left(const ShownReads& reads);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_READS_H_
