#include "source/pytorch/events/operator_calls.h"

#include <tensortap/asking.h>

#include <memory>
#include <span>

#include "base/clock.h"
#include "base/text.h"
#include "source/pytorch/events/call_keys.h"
#include "source/pytorch/events/call_reads.h"
#include "source/pytorch/events/device_use.h"
#include "source/pytorch/events/index_arguments.h"
#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/identity/device_graphs.h"
#include "source/pytorch/memory/output_arguments.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {
namespace {

tensortap_op_event event_of(const PendingCall& pending, const ThreadCalls& calls) {
  tensortap_op_event event{};
  event.size = sizeof event;
  event.op = pending.identity->id;
  event.step = pending.step;
  event.run = pending.run;
  event.phase = pending.phase;
  event.moment = TENSORTAP_MOMENT_AFTER;
  event.duration_ns = -1;
  event.tensors = calls.tensors.data();
  event.tensor_count = calls.tensors.size();
  event.parallel_for = pending.capture->runtime.adapter.parallel_for;
  event.call = pending.call + 1;
  event.model_phase = pending.model_phase;
  return event;
}

OpIdentity& identity_of(TorchCapture& capture, ThreadCalls& calls, const OpKey& key, const tensortap_torch_call& call,
                        const ReportedArguments* told) {
  if (OpIdentity* recent = calls.recent.find(key, capture.generation)) return *recent;
  OpIdentity& identity = capture.identities.of(key, call, {}, told);
  calls.recent.add(key, capture.generation, &identity);
  return identity;
}

// Gathers the arguments of a call for the session, and notes them in `pending` if its end reports them again.
void gather_inputs(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  calls.tensors.clear();
  for (uint32_t i = 0; i < call.tensor_count; ++i) {
    const tensortap_torch_tensor& tensor = call.tensors[i];
    tensortap_tensor told;
    const StorageContent content = pending.capture->storages.look(tensor, calls.met);
    if (leaves_out(pending, tensor, content)) continue;
    if (!pending.capture->describe(*pending.identity, tensor, content, told)) continue;
    told.slot_kind = TENSORTAP_SLOT_INPUT;
    calls.tensors.push_back(told);
    if (pending.capture->shows_reads_after) pending.read.push_back(argument_of(tensor));
  }
}

// The inputs of a collective cannot be shown when it is complete.
bool shows_later(const PendingCall& pending) { return pending.capture->shows_reads && !pending.own_memory; }

void report_what_it_reads(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  if (shows_later(pending)) {
    gather_what_it_writes_over(calls, pending, call);
    if (calls.tensors.empty()) return;
  } else {
    gather_inputs(calls, pending, call);
  }
  tensortap_op_event event = event_of(pending, calls);
  event.flags = TENSORTAP_EVENT_READ_FIRST;
  tensortap_on_op(pending.capture->session, &event);
}

// The op of a call, in a session that distinguishes calls. Calls of the backward pass or of an optimizer have no operation of the forward
// pass above them.
OpIdentity& identity_in_place(TorchCapture& capture, ThreadCalls& calls, const OpKey& key, const tensortap_torch_call& call,
                              const ReportedArguments* told) {
  const uint32_t phase = phase_of(call, calls);
  const bool on_its_own = phase == TENSORTAP_PHASE_BACKWARD || phase == TENSORTAP_PHASE_UPDATE;
  const uint64_t op = uint64_t{key.scope} << 40U | uint64_t{key.level} << 32U | key.op;
  return capture.identities.of(key, call, calls.operations.next_call(op, capture.steps.round(), on_its_own ? phase : 0), told);
}

// Reports the call's arguments that are no tensors if they differ from the op's: numbers that change from step to step.
void tell_arguments(const PendingCall& pending, const tensortap_torch_call& call) {
  const bool begins = call.arguments != nullptr;
  const tensortap_torch_adapter& adapter = pending.capture->runtime.adapter;
  const uint64_t digest = begins ? arguments_of(call, adapter, false).digest : pending.arguments.digest;
  if (digest == pending.identity->arguments || digest == 0) return;
  const std::string text = begins ? arguments_of(call, adapter, true).text : pending.arguments.text;
  tensortap_add_arguments(pending.capture->session, pending.identity->id, pending.step, pending.call + 1,
                          text.empty() ? "{}" : text.c_str());
}

// `told` where the call is no longer at its begin.
void decide(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call, const ReportedArguments* told = nullptr) {
  const bool calls_apart = pending.capture->identities.calls_apart();
  pending.identity = &(calls_apart ? identity_in_place : identity_of)(*pending.capture, calls, pending.key, call, told);
  // The session looks for values that are not finite: an op that makes no values is reported to it once, to be counted.
  const bool no_news = !pending.capture->wants_moves && (pending.identity->flags & TENSORTAP_TORCH_OP_REARRANGES) != 0;
  if (no_news && pending.identity->told.load(std::memory_order_relaxed)) return;
  pending.wanted = tensortap_wants(pending.capture->session, pending.identity->id, pending.step) != 0;
  if (!pending.wanted) return;
  if (no_news) pending.identity->told.store(true, std::memory_order_relaxed);
  pending.call = pending.identity->count_call(pending.step);
  if (pending.capture->wants_arguments) tell_arguments(pending, call);
}

// A call that reads no tensor becomes an op at its end, if it makes a tensor, but has its arguments only at its begin.
void keep_arguments(const ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  if (pending.capture->identities.calls_apart()) return;
  const bool is_known = calls.recent.find(pending.key, pending.capture->generation) != nullptr;
  if (!is_known || pending.capture->wants_arguments) pending.arguments = arguments_of(call, pending.capture->runtime.adapter, true);
}

PendingCall& next_pending(ThreadCalls& calls, bool own_memory) {
  PendingCall* pending = nullptr;
  if (own_memory) {
    pending = new PendingCall;
    pending->own_memory = true;
    return *pending;
  }
  if (calls.depth == calls.pending.size()) calls.pending.push_back(std::make_unique<PendingCall>());
  pending = calls.pending[calls.depth++].get();
  pending->identity = nullptr;
  pending->wanted = false;
  pending->call = 0;
  pending->running_before.reset();
  pending->written.clear();
  pending->read.clear();
  pending->left.clear();
  pending->arguments = {};
  return *pending;
}

void release(ThreadCalls& calls, PendingCall* pending) {
  if (pending->running_before) calls.operations.end(*pending->running_before);
  if (pending->own_memory) {
    delete pending;
  } else if (calls.depth > 0) {
    --calls.depth;
  }
}

uint32_t flags_of(TorchCapture& capture, uint32_t op) { return capture.runtime.operators[op].flags; }

// Names come from the interpreter as soon as it has torch imported.
void try_bootstrap(TorchCapture& capture) {
  if (capture.runtime.bootstrapped.load(std::memory_order_relaxed)) return;
  if (!bootstrap_python(capture.runtime.python_package)) return;
  capture.runtime.bootstrapped.store(true);
  capture.observe();
}

// Whether a call is an operation at all. A view runs nothing, and calls before the first call of a model belong to no round.
bool is_operation(TorchCapture& capture, const tensortap_torch_call& call) {
  if ((flags_of(capture, call.op) & TENSORTAP_TORCH_OP_REARRANGES) != 0) return false;
  if (capture.steps.model_runs()) return true;
  if (!capture.told_of_early_calls.exchange(true)) {
    tensortap_note(capture.session, "operators that ran before the first call of a module are of no round, and not in the dump");
  }
  return false;
}

// Whether kernels that run until a call ends are operations below it.
bool calls_kernels(const TorchCapture& capture, const PendingCall& pending) {
  const bool takes_kernels = (capture.levels & 1U << TENSORTAP_LEVEL_KERNEL) != 0 && pending.key.level != TENSORTAP_LEVEL_KERNEL;
  return takes_kernels && capture.identities.calls_apart() && !pending.own_memory;
}

// Whether a call that comes after an optimizer's step still belongs to that step, by the values that it reads: the program reads its loss,
// or computes how good its outputs were. A call that reads the new parameters begins the next step, as any call of a module does.
bool reads_lingering_step(TorchCapture& capture, const ThreadCalls& calls, const tensortap_torch_call& call) {
  if (call.tensor_count == 0 || !calls.nodes.empty() || calls.optimizer != 0 || current_module() != 0) return false;
  const TorchOperator& op = capture.runtime.operators[call.op];
  if ((op.flags & TENSORTAP_TORCH_OP_SEES_VALUE) != 0) return true;
  const bool computes = (op.flags & (TENSORTAP_TORCH_OP_REARRANGES | TENSORTAP_TORCH_OP_VIEW)) == 0;
  const int64_t step = capture.steps.current();
  bool reads_some = false;
  for (uint32_t i = 0; i < call.tensor_count; ++i) {
    const tensortap_torch_tensor& tensor = call.tensors[i];
    if (tensor.slot < 64 && (op.overwritten >> tensor.slot & 1U) != 0) continue;
    const WriteTime written = capture.storages.written_at(tensor);
    if (written.step != step) continue;
    if (computes && written.by_optimizer) return false;
    reads_some = true;
  }
  return reads_some;
}

// Buffers of compiled code that an operator is given to write into hold nothing that it could read.
void note_output_buffers(TorchCapture& capture, ThreadCalls& calls, const tensortap_torch_call& call) {
  const TorchOperator& op = capture.runtime.operators[call.op];
  const uint64_t outputs = output_arguments(op.name, op.overload);
  for (uint32_t i = 0; outputs != 0 && i < call.tensor_count; ++i) {
    const tensortap_torch_tensor& tensor = call.tensors[i];
    if (tensor.slot < 64 && (outputs >> tensor.slot & 1U) != 0) static_cast<void>(capture.storages.allocated(tensor, calls.met));
  }
}

}  // namespace

void* operator_begins(const tensortap_torch_call* call, uint64_t torch_thread) {
  const EnteredCapture capture;
  // The case of a child of fork(). The callbacks stay on there: torch switches them under a lock that a thread of the parent may have held.
  if (!capture) return nullptr;
  ThreadCalls* calls = thread_calls();
  if (calls == nullptr || calls->compiling > 0) return nullptr;
  if (capture->work_has_failed.load(std::memory_order_relaxed)) calls->has_failed = capture->work_has_failed.exchange(false);
  tell_that_it_goes_on(*calls, capture->session);
  try_bootstrap(*capture.get());
  if (capture->steps.lingers() && !reads_lingering_step(*capture.get(), *calls, *call)) capture->steps.move_on();
  if (!capture->step_wanted.load(std::memory_order_relaxed)) return nullptr;
  if (calls->depth == 0) note_operator_in_recording();
  const bool is_collective = call->tensor_count > 0 && (flags_of(*capture.get(), call->op) & TENSORTAP_TORCH_OP_COLLECTIVE) != 0;
  capture->storages.let_go(calls->met);
  if (capture->identities.calls_apart() && !is_operation(*capture.get(), *call)) return nullptr;
  calls->met.now = capture->write_time(calls->optimizer != 0);
  PendingCall& pending = next_pending(*calls, is_collective);
  pending.capture = capture.get();
  pending.step = capture->steps.current();
  pending.run = capture->steps.run();
  pending.model_phase = capture->steps.model_phase();
  pending.phase = phase_of(*call, *calls);
  pending.key = key_of(*call, *calls, capture->levels);
  for (uint32_t i = 0; i < call->tensor_count; ++i) {
    if ((call->tensors[i].flags & TENSORTAP_TORCH_TENSOR_WRITTEN) == 0) continue;
    pending.written.push_back(call->tensors[i]);
    capture->storages.look_before_write(call->tensors[i]);
  }
  pending.began_ns = call->tensor_count == 0 ? monotonic_ns() : 0;
  if (call->tensor_count == 0) {
    keep_arguments(*calls, pending, *call);
    return &pending;
  }
  // If the bytes are the same as before, nothing shows whether the program filled the memory.
  if ((flags_of(*capture.get(), call->op) & TENSORTAP_TORCH_OP_HOST_FILLED) != 0) {
    for (uint32_t i = 0; i < call->tensor_count; ++i) capture->storages.filled(call->tensors[i], calls->met);
  }
  note_use(*capture.get(), *calls, *call);
  if (compiled_code_runs()) {
    capture->storages.lose_sight();  // kernels ran unseen since the last operator
    note_operator_in_code();
  }
  if (compiled_code_runs() || reported_code_runs()) note_output_buffers(*capture.get(), *calls, *call);
  decide(*calls, pending, *call);
  if (call->sequence_number >= 0) capture->links.note(torch_thread, call->sequence_number, pending.identity);
  if (!pending.wanted && pending.written.empty() && (pending.identity->flags & TENSORTAP_TORCH_OP_UNWRITTEN) == 0) {
    release(*calls, &pending);
    return nullptr;
  }
  if (calls_kernels(*capture.get(), pending)) pending.running_before = calls->operations.begin(pending.identity);
  if (pending.wanted) report_what_it_reads(*calls, pending, *call);
  pending.began_ns = pending.wanted ? monotonic_ns() : 0;
  return &pending;
}

namespace {

// Whether any result of a call without tensors can be reported: tracing gives none.
bool gave_values(const tensortap_torch_call& call) {
  for (uint32_t i = 0; i < call.tensor_count; ++i) {
    const uint32_t kind = call.tensors[i].kind;
    if (kind != TENSORTAP_TORCH_META && kind != TENSORTAP_TORCH_WRAPPER) return true;
  }
  return false;
}

// `ended` is null when the call is not the one that ends now.
void report_what_it_made(ThreadCalls& calls, PendingCall& pending, std::span<const tensortap_torch_tensor> tensors, int64_t duration,
                         const tensortap_torch_call* ended) {
  TorchCapture& capture = *pending.capture;
  const TorchOperator& op = capture.runtime.operators[pending.identity->op];
  const bool unwritten = (op.flags & TENSORTAP_TORCH_OP_UNWRITTEN) != 0;
  calls.tensors.clear();
  uint32_t next_slot = op.returns;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const tensortap_torch_tensor& tensor = tensors[i];
    const StorageContent content = unwritten ? capture.storages.allocated(tensor, calls.met) : capture.storages.made(tensor, calls.met);
    tensortap_tensor told;
    if (!pending.wanted || !capture.describe(*pending.identity, tensor, content, told)) continue;
    if ((tensor.flags & TENSORTAP_TORCH_TENSOR_WRITTEN) != 0) {
      // A list is one slot with elements.
      if (i > 0 && tensor.element > 0 && next_slot > op.returns) --next_slot;
      told.slot_index = next_slot++;
      if (pending.left.are_all_in(tensor)) told.flags |= TENSORTAP_TENSOR_LEFT;
    }
    told.slot_kind = TENSORTAP_SLOT_OUTPUT;
    if (capture.shows_reads) told.flags |= TENSORTAP_TENSOR_SHOWN_AGAIN;
    calls.tensors.push_back(told);
  }
  if (!pending.wanted) return note_unfilled(capture, calls, tensors);
  ShownReads reads{calls, pending, ended};
  if (ended != nullptr && capture.shows_reads_after) gather_what_it_left(reads);
  tensortap_op_event event = event_of(pending, calls);
  event.duration_ns = duration;
  if (ended != nullptr && shows_later(pending)) {
    event.show_reads = show_reads;
    event.reads = &reads;
  }
  tensortap_on_op(capture.session, &event);
  note_unfilled(capture, calls, tensors);
}

void report_failure(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  gather_inputs(calls, pending, call);
  const tensortap_op_event event = event_of(pending, calls);
  const std::string index = index_out_of_range(pending.capture->runtime.operators[call.op], {call.tensors, call.tensor_count});
  const std::string text = concat("the operator raised an exception", index.empty() ? "" : ": ", index);
  tensortap_op_failed(pending.capture->session, &event, text.c_str());
  calls.has_failed = true;
}

// The thread that waits for it raises, which is not the one that reports it as often as not.
void report_failed_work(ThreadCalls& calls, const PendingCall& pending, const char* error) {
  calls.tensors.clear();
  const tensortap_op_event event = event_of(pending, calls);
  tensortap_op_failed(pending.capture->session, &event, concat("the collective failed: ", error).c_str());
  pending.capture->work_has_failed.store(true);
}

// Notes the writes of a collective: into the blocks that it was given and those that it returned.
void note_writes(ThreadCalls& calls, const PendingCall& pending, std::span<const tensortap_torch_tensor> tensors) {
  for (const tensortap_torch_tensor& block : pending.written) static_cast<void>(pending.capture->storages.wrote(block, calls.met));
  for (const tensortap_torch_tensor& tensor : tensors) static_cast<void>(pending.capture->storages.wrote(tensor, calls.met));
}

// Checkpointing repeats a part of the forward pass inside a node, and ends it by an exception as soon as it has what it needs.
bool stops_recomputation(const tensortap_torch_call& call, const ThreadCalls& calls) {
  return !calls.nodes.empty() && (call.flags & TENSORTAP_TORCH_CALL_GRAD_MODE) != 0;
}

void finish(ThreadCalls& calls, PendingCall& pending, const tensortap_torch_call& call) {
  const int64_t duration = pending.began_ns != 0 ? monotonic_ns() - pending.began_ns : -1;
  for (const tensortap_torch_tensor& block : pending.written) static_cast<void>(pending.capture->storages.wrote(block, calls.met));
  const bool raised = (call.flags & TENSORTAP_TORCH_CALL_RAISED) != 0;
  if (pending.identity == nullptr) {
    if (raised || !gave_values(call)) return;
    decide(calls, pending, call, &pending.arguments);
  }
  if (raised) {
    if (!stops_recomputation(call, calls)) report_failure(calls, pending, call);
  } else {
    report_what_it_made(calls, pending, {call.tensors, call.tensor_count}, duration, &call);
  }
}

// A failure counts whether or not the op was asked for.
void end_unwanted(TorchCapture& capture, ThreadCalls& calls, const tensortap_torch_call& call) {
  if ((call.flags & TENSORTAP_TORCH_CALL_RAISED) == 0 || stops_recomputation(call, calls)) return;
  PendingCall& pending = next_pending(calls, false);
  pending.capture = &capture;
  pending.step = capture.steps.current();
  pending.run = capture.steps.run();
  pending.model_phase = capture.steps.model_phase();
  pending.phase = phase_of(call, calls);
  pending.key = key_of(call, calls, capture.levels);
  decide(calls, pending, call);
  report_failure(calls, pending, call);
  release(calls, &pending);
}

}  // namespace

void operator_ends(const tensortap_torch_call* call) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  auto* pending = static_cast<PendingCall*>(call->token);
  if (calls == nullptr) return;
  if (pending == nullptr) {
    if (capture && calls->compiling == 0) end_unwanted(*capture.get(), *calls, *call);
    return;
  }
  if ((call->flags & TENSORTAP_TORCH_CALL_LATER) != 0) {
    // collective_done() reports it. Until then its memory holds neither the old values nor the new ones.
    if (capture && capture.get() == pending->capture) note_writes(*calls, *pending, {call->tensors, call->tensor_count});
    return;
  }
  if (capture && capture.get() == pending->capture) finish(*calls, *pending, *call);
  release(*calls, pending);
}

void collective_done(void* token, const tensortap_torch_tensor* tensors, uint32_t count, const char* error) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  auto* pending = static_cast<PendingCall*>(token);
  if (calls == nullptr || pending == nullptr) return;
  if (capture && capture.get() == pending->capture) {
    const std::span<const tensortap_torch_tensor> written(tensors, count);
    note_writes(*calls, *pending, written);
    // A collective that the selection leaves out was begun only for its writes.
    if (error != nullptr) {
      report_failed_work(*calls, *pending, error);
    } else {
      report_what_it_made(*calls, *pending, written, monotonic_ns() - pending->began_ns, nullptr);
    }
  }
  delete pending;
}

}  // namespace tensortap::pytorch
