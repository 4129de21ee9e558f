#include "source/pytorch/adapter/observer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <tensortap/capture.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "source/pytorch/adapter/attributes.h"
#include "source/pytorch/adapter/canonical.h"
#include "source/pytorch/adapter/collectives.h"
#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/placements.h"
#include "source/pytorch/adapter/tensor_facts.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {
namespace {

constexpr uint32_t kKernelLevel = 1U << TENSORTAP_LEVEL_KERNEL;
constexpr uint32_t kApiLevel = 1U << TENSORTAP_LEVEL_API;

const tensortap_torch_tracker* tracker = nullptr;
at::CallbackHandle operators_handle{};
std::atomic<uint32_t> levels{1};

bool wants_level(uint32_t level) { return (levels.load(std::memory_order_relaxed) & level) != 0; }

class Busy {
 public:
  explicit Busy(ThreadFrames& frames) : frames_(frames) {
    frames_.busy = true;
    frames_.made_sizes.clear();
  }
  ~Busy() { frames_.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadFrames& frames_;
};

// A frame keeps nothing of the program alive when its call has ended, whatever was raised.
struct ReleasedTensors {
  ThreadFrames& frames;
  Frame& frame;
  ~ReleasedTensors() {
    if (frames.copies.size() > frame.copies) frames.copies.resize(frame.copies);
    frame.written.clear();
    frame.read.clear();
    frame.wrapped.clear();
    frame.works.clear();
  }
};

// Whether the call returns before its copy is complete.
bool leaves_copies(const OperatorFacts& facts, c10::ArrayRef<const c10::IValue> arguments) {
  if (facts.non_blocking < 0 || static_cast<size_t>(facts.non_blocking) >= arguments.size()) return false;
  const c10::IValue& value = arguments[static_cast<size_t>(facts.non_blocking)];
  return value.isBool() && value.toBool();
}

void gather_arguments(ThreadFrames& frames, Frame& frame, c10::ArrayRef<const c10::IValue> arguments) {
  frames.tensors.clear();
  const bool leaves = leaves_copies(*frame.facts, arguments);
  const OperatorFacts& facts = *frame.facts;
  const bool roles_known = !is_below_wrapped(frames);
  for (uint32_t slot = 0; slot < arguments.size(); ++slot) {
    const bool written = slot < facts.written.size() && facts.written[slot] != 0;
    for_each_tensor(arguments[slot], [&](const at::Tensor& tensor, int32_t element) {
      tensortap_torch_tensor described = describe(tensor, slot, element);
      if (described.kind == TENSORTAP_TORCH_UNDEFINED) return;
      if (written) described.flags |= TENSORTAP_TORCH_TENSOR_WRITTEN;
      if (roles_known) described.flags |= role_of(tensor);
      if (leaves && described.kind == TENSORTAP_TORCH_DEVICE) frame.leaves_copies = described.device;
      frames.tensors.push_back(described);
      if (written && facts.reads_back) frame.written.push_back({tensor, slot, element});
      frame.read.push_back({WeakTensor(tensor.getIntrusivePtr()), slot, element});
    });
  }
}

tensortap_torch_call call_of(const ThreadFrames& frames, const Frame& frame) {
  tensortap_torch_call call{};
  call.size = sizeof call;
  call.op = frame.facts->id;
  call.flags = frame.flags;
  call.tensor_count = static_cast<uint32_t>(frames.tensors.size());
  call.tensors = frames.tensors.data();
  call.sequence_number = -1;
  call.token = frame.token;
  return call;
}

// An operator that raised has no results; if an operator never has any, only the exception in flight shows it.
int exceptions_now(const Frame& frame) { return frame.facts->returns > 0 ? 0 : std::uncaught_exceptions(); }

void report_begin(ThreadFrames& frames, Frame& frame, const at::RecordFunction& record, uint32_t level_flag) {
  frame.flags = level_flag | (at::GradMode::is_enabled() ? TENSORTAP_TORCH_CALL_GRAD_MODE : 0U);
  frame.exceptions = exceptions_now(frame);
  const CallArguments arguments{*frame.facts, arguments_of(record, *frame.facts)};
  gather_arguments(frames, frame, arguments.values);
  report_complete(frames.tensors, !frame.facts->waits);
  tensortap_torch_call call = call_of(frames, frame);
  call.arguments = &arguments;
  call.sequence_number = record.seqNr() >= 0 ? record.seqNr() : outer_sequence_number(*frame.facts);
  frame.token = tracker->begin(&call, record.threadId());
  frame.is_reported = true;
}

// Notes the begin of a call that may turn out to be a kernel when it ends.
void note_begin(ThreadFrames& frames, Frame& frame, const at::RecordFunction& record) {
  frame.exceptions = exceptions_now(frame);
  gather_arguments(frames, frame, arguments_of(record, *frame.facts));
}

void begin_operator(ThreadFrames& frames, const at::RecordFunction& record) {
  const bool below = frames.operators > 0;
  const OperatorFacts& facts = facts_of(record);
  if (frames.depth > 0 && facts.computes && !facts.only_moves) frames.stack[frames.depth - 1].calls_others = true;
  Frame& frame = push_frame(frames);
  frame.facts = &facts;
  frame.is_operator = !below && is_operator(*frame.facts, arguments_of(record, *frame.facts));
  if (frame.is_operator) ++frames.operators;
  if (!frame.facts->has_schema) return;
  if (!frame.is_operator && !below) {
    frame.sequence_number = record.seqNr();
    note_wrapped(frame, arguments_of(record, *frame.facts));
  }
  if (frame.is_operator) {
    report_begin(frames, frame, record, frames.apis == 0 ? TENSORTAP_TORCH_CALL_DIRECT : 0U);
  } else if (below) {
    note_begin(frames, frame, record);
  } else if (frames.apis == 0 && wants_level(kApiLevel)) {
    frame.is_api = true;
    ++frames.apis;
    report_begin(frames, frame, record, TENSORTAP_TORCH_CALL_COMPOSITE);
  }
}

void begin_node(ThreadFrames& frames, const at::RecordFunction& record, const char* name) {
  push_frame(frames).is_node = true;
  tensortap_torch_node node{};
  node.size = sizeof node;
  node.name = name;
  node.sequence_number = record.seqNr();
  node.forward_thread = record.forwardThreadId();
  tracker->node_begin(&node);
}

// The autograd engine announces a node before it runs it. It sums gradients to the shape of an input afterwards, which is still the node's
// work.
const char* evaluated_node(const at::RecordFunction& record) {
  constexpr std::string_view kPrefix = "autograd::engine::evaluate_function: ";
  const char* name = record.name();
  if (name[0] != kPrefix[0] || name[1] != kPrefix[1]) return nullptr;
  return std::strncmp(name, kPrefix.data(), kPrefix.size()) == 0 ? name + kPrefix.size() : nullptr;
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& record) {
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr || frames->busy || frames->graphs > 0 || record.isAsync()) return nullptr;
  if (frames->operators > 0 && !wants_level(kKernelLevel)) {
    ++frames->inside;
    return nullptr;
  }
  const Busy busy(*frames);
  if (record.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    begin_node(*frames, record, record.name());
  } else if (const char* node = evaluated_node(record)) {
    begin_node(*frames, record, node);
  } else {
    begin_operator(*frames, record);
  }
  return nullptr;
}

bool has_raised(const Frame& frame, c10::ArrayRef<const c10::IValue> returns) {
  return frame.facts->returns > 0 ? returns.empty() : exceptions_now(frame) > frame.exceptions;
}

void mark_unfilled(std::vector<tensortap_torch_tensor>& tensors, const Frame& frame) {
  if (frame.leaves_copies == nullptr) return;
  for (tensortap_torch_tensor& tensor : tensors) {
    if (tensor.kind != TENSORTAP_TORCH_STRIDED) continue;
    tensor.flags |= TENSORTAP_TORCH_TENSOR_UNFILLED;
    tensor.device = frame.leaves_copies;
  }
}

void gather_returns(ThreadFrames& frames, const Frame& frame, c10::ArrayRef<const c10::IValue> returns) {
  frames.tensors.clear();
  for (uint32_t slot = 0; slot < returns.size(); ++slot) {
    for_each_tensor(returns[slot], [&](const at::Tensor& tensor, int32_t element) {
      const tensortap_torch_tensor described = describe(tensor, slot, element);
      if (described.kind != TENSORTAP_TORCH_UNDEFINED) frames.tensors.push_back(described);
    });
  }
  for (const KeptArgument<at::Tensor>& kept : frame.written) {
    frames.tensors.push_back(describe(kept.tensor, kept.slot, kept.element));
    frames.tensors.back().flags |= TENSORTAP_TORCH_TENSOR_WRITTEN;
  }
  mark_unfilled(frames.tensors, frame);
  report_complete(frames.tensors, false);
}

// The arguments of a call that ended, as far as they still exist. Returns the tensors, which keep the pointers valid.
std::vector<at::Tensor> gather_what_it_read(const ThreadFrames& frames, std::vector<tensortap_torch_tensor>& described,
                                            const Frame& frame) {
  const bool roles_known = !is_below_wrapped(frames);
  described.clear();
  std::vector<at::Tensor> alive;
  for (const KeptArgument<WeakTensor>& kept : frame.read) {
    auto tensor = kept.tensor.lock();
    if (!tensor) continue;
    alive.emplace_back(std::move(tensor));
    described.push_back(describe(alive.back(), kept.slot, kept.element));
    if (roles_known) described.back().flags |= role_of(alive.back());
  }
  report_complete(described, false);
  return alive;
}

// The argument of tensortap_torch_show_arguments.
struct ShownArguments {
  ThreadFrames& frames;
  const Frame& frame;
  std::vector<at::Tensor> alive{};
};

uint32_t show_arguments(void* arguments, const tensortap_torch_tensor** tensors) {
  auto& shown = *static_cast<ShownArguments*>(arguments);
  try {
    shown.alive = gather_what_it_read(shown.frames, shown.frames.shown, shown.frame);
  } catch (...) {
    return 0;
  }
  *tensors = shown.frames.shown.data();
  return static_cast<uint32_t>(shown.frames.shown.size());
}

void end_with_returns(ThreadFrames& frames, Frame& frame, c10::ArrayRef<const c10::IValue> returns, tensortap_torch_call call) {
  gather_returns(frames, frame, returns);
  std::shared_ptr<Collective> collective;
  if (frame.facts->collective) {
    frames.starts_collectives = true;
    note_work(returns, frame.works);
    collective = collective_of(frame, returns);
  }
  ShownArguments arguments{frames, frame};
  if (collective != nullptr) call.flags |= TENSORTAP_TORCH_CALL_LATER;
  call.tensors = frames.tensors.data();
  call.tensor_count = static_cast<uint32_t>(frames.tensors.size());
  call.show_arguments = show_arguments;
  call.shown_arguments = &arguments;
  tracker->end(&call);
  if (collective != nullptr) follow(collective, *tracker);
}

void report_end(ThreadFrames& frames, Frame& frame, const at::RecordFunction& record) {
  const c10::ArrayRef<const c10::IValue> returns = returns_of(record, *frame.facts);
  if (frame.token == nullptr && !has_raised(frame, returns)) return;
  if (has_raised(frame, returns)) {
    const std::vector<at::Tensor> alive = gather_what_it_read(frames, frames.tensors, frame);
    tensortap_torch_call call = call_of(frames, frame);
    call.flags |= TENSORTAP_TORCH_CALL_RAISED;
    tracker->end(&call);
    return;
  }
  end_with_returns(frames, frame, returns, call_of(frames, frame));
}

// A call that called only views, allocations and copies is a kernel, which is known only now. Begin and end are reported at once, with
// those of its inputs that still exist.
void report_kernel(ThreadFrames& frames, Frame& frame, const at::RecordFunction& record) {
  const c10::ArrayRef<const c10::IValue> returns = returns_of(record, *frame.facts);
  if (has_raised(frame, returns)) return;
  const std::vector<at::Tensor> alive = gather_what_it_read(frames, frames.tensors, frame);
  tensortap_torch_call call = call_of(frames, frame);
  call.flags = TENSORTAP_TORCH_CALL_KERNEL | (at::GradMode::is_enabled() ? TENSORTAP_TORCH_CALL_GRAD_MODE : 0U);
  call.token = frame.token = tracker->begin(&call, record.threadId());
  if (call.token != nullptr) end_with_returns(frames, frame, returns, call);
}

// A functional collective does not return its work: a call below it does.
void note_work_below(ThreadFrames& frames, const at::RecordFunction& record) {
  if (frames.depth == 0) return;
  Frame& above = frames.stack[frames.depth - 1];
  if (above.is_node || !above.facts->collective || std::strncmp(record.name(), "c10d::", 6) != 0) return;
  note_work(c10::ArrayRef<const c10::IValue>(record.outputs().data(), record.outputs().size()), above.works);
}

void on_end(const at::RecordFunction& record, at::ObserverContext* /*context*/) {
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr || frames->busy || frames->graphs > 0 || record.isAsync()) return;
  if (frames->inside > 0) {
    --frames->inside;
    note_work_below(*frames, record);
    return;
  }
  if (frames->depth == 0) return;
  const Busy busy(*frames);
  Frame& frame = frames->stack[--frames->depth];
  const ReleasedTensors released{*frames, frame};
  if (frame.is_node) {
    tracker->node_end();
    return;
  }
  if (frame.is_operator) --frames->operators;
  if (frame.is_api) --frames->apis;
  if (frame.is_reported) report_end(*frames, frame, record);
  const bool is_kernel = !frame.calls_others && (frame.is_operator || frames->operators > 0) && wants_level(kKernelLevel);
  if (is_kernel && frame.facts->computes) report_kernel(*frames, frame, record);
  if (frames->operators > 0) note_work_below(*frames, record);
}

// Nothing that we do may reach the program as an exception: torch would print it, or the operator would fail.
std::unique_ptr<at::ObserverContext> begin_guarded(const at::RecordFunction& record) {
  try {
    return on_begin(record);
  } catch (...) {
    return nullptr;
  }
}

void end_guarded(const at::RecordFunction& record, at::ObserverContext* context) {
  try {
    on_end(record, context);
  } catch (...) {
  }
}

std::unique_ptr<at::ObserverContext> begin_scope(const at::RecordFunction& record) {
  const ThreadFrames* frames = thread_frames();
  if (frames != nullptr && !frames->busy && !record.isAsync()) tracker->scope_begin(record.name());
  return nullptr;
}

void end_scope(const at::RecordFunction& record, at::ObserverContext* /*context*/) {
  const ThreadFrames* frames = thread_frames();
  if (frames != nullptr && !frames->busy && !record.isAsync()) tracker->scope_end(record.name());
}

}  // namespace

void register_callbacks(const tensortap_torch_tracker* given) {
  tracker = given;
  set_tracker_for_facts(given);
  at::addGlobalCallback(at::RecordFunctionCallback(begin_scope, end_scope).scopes({at::RecordScope::USER_SCOPE}));
  operators_handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_guarded, end_guarded)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  at::disableCallback(operators_handle);
}

namespace {

void switch_callbacks(bool enabled, uint32_t wanted_levels) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  levels.store(wanted_levels, std::memory_order_relaxed);
  static bool on = false;
  if (on == enabled) return;
  on = enabled;
  if (enabled) {
    at::reenableCallback(operators_handle);
  } else {
    at::disableCallback(operators_handle);
  }
}

}  // namespace

void observe(bool enabled, uint32_t wanted_levels) {
  switch_callbacks(enabled, wanted_levels);
  if (!enabled) lose_sight_of_collectives();
}

}  // namespace tensortap::torch_adapter
