#include "session/running_ops.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <string>

#include "session/event_view.h"
#include "session/thread_number.h"

namespace tensortap {
namespace {

constexpr uint32_t kUnknownInput = UINT32_MAX;
constexpr uint32_t kDeepest = 1024;  // ops that never ended are forgotten by then

uint32_t own_thread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

bool is_gone(uint32_t thread) { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

uint32_t call_of(const tensortap_op_event& event) { return event.call == 0 ? 0 : event.call - 1; }

void describe(const tensortap_op_event& event, int64_t step, uint32_t thread, RunningOp& op) {
  op.op = event.op;
  op.call = call_of(event);
  op.step = step;
  op.run = event.run;
  op.phase = event.phase;
  op.thread = thread;
  op.thread_number = thread_number();
  op.count = 0;
}

}  // namespace

RunningOps::~RunningOps() {
  if (slots_ != nullptr) munmap(slots_, kThreads * sizeof(Slot));
}

bool RunningOps::reserve() {
  static std::atomic<uint64_t> numbers{0};
  void* memory = mmap(nullptr, kThreads * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  slots_ = static_cast<Slot*>(memory);
  number_ = numbers.fetch_add(1) + 1;
  return true;
}

RunningOps::Slot* RunningOps::own_slot() {
  thread_local uint64_t known_number = 0;
  thread_local Slot* known = nullptr;
  if (known_number == number_) return known;
  if (slots_ == nullptr) return nullptr;
  const uint32_t thread = own_thread();
  for (const bool of_gone_threads : {false, true}) {
    for (size_t i = 0; i < kThreads; ++i) {
      Slot& slot = slots_[i];
      uint32_t owner = slot.thread.load(std::memory_order_relaxed);
      const bool free = owner == 0 || owner == thread || (of_gone_threads && is_gone(owner));
      if (!free || !slot.thread.compare_exchange_strong(owner, thread)) continue;
      // The thread may come back from another session in the middle of an op of this one. The system gives numbers of threads again.
      if (slot.thread_number != thread_number()) {
        slot.thread_number = thread_number();
        slot.depth.store(0, std::memory_order_relaxed);
        slot.has_last.store(false, std::memory_order_relaxed);
      }
      known_number = number_;
      known = &slot;
      return known;
    }
  }
  return nullptr;
}

void RunningOps::begin(const tensortap_op_event& event, int64_t step) {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  uint32_t depth = slot->depth.load(std::memory_order_relaxed);
  if (depth >= kDeepest) depth = 0;
  RunningOp& frame = slot->frames[depth % kDepth];
  describe(event, step, slot->thread.load(std::memory_order_relaxed), frame);
  for (uint64_t i = 0; i < event.tensor_count && frame.count < RunningOp::kMostTensors; ++i) {
    frame.tensors[frame.count++] = RememberedTensor(tensor_of(event, i));
  }
  slot->depth.store(depth + 1, std::memory_order_release);
}

void RunningOps::end(const tensortap_op_event& event, int64_t step) {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  const uint32_t depth = slot->depth.load(std::memory_order_relaxed);
  for (uint32_t level = depth; level > 0 && depth - level < kDepth; --level) {
    const RunningOp& frame = slot->frames[(level - 1) % kDepth];
    if (frame.op != event.op || frame.run != event.run || frame.call != call_of(event)) continue;
    slot->depth.store(level - 1, std::memory_order_release);
    return;
  }
  if (!bound_.load(std::memory_order_acquire) || event.op >= links_.size()) return;
  note_made(event);
  slot->has_last.store(false, std::memory_order_relaxed);
  describe(event, step, slot->thread.load(std::memory_order_relaxed), slot->last);
  slot->has_last.store(true, std::memory_order_release);
}

void RunningOps::bind(std::span<const OpInfo> ops) {
  if (slots_ == nullptr || bound_.load()) return;
  links_.resize(ops.size());
  std::map<std::string, size_t> latest;  // executed op of each graph
  uint32_t outputs = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    Link& link = links_[i];
    link.first_output = outputs;
    link.outputs = static_cast<uint32_t>(ops[i].outputs.size());
    outputs += link.outputs;
    if (ops[i].type == kInputType || ops[i].type == kInitializerType) continue;
    const auto [before, is_first] = latest.try_emplace(ops[i].graph, i);
    if (!is_first) links_[std::exchange(before->second, i)].next = static_cast<OpId>(i);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    links_[i].first_input = static_cast<uint32_t>(inputs_.size());
    links_[i].inputs = static_cast<uint32_t>(ops[i].inputs.size());
    for (const OpInput& input : ops[i].inputs) {
      const bool known = input.producer < links_.size() && input.producer_slot < links_[input.producer].outputs;
      inputs_.push_back(known ? links_[input.producer].first_output + input.producer_slot : kUnknownInput);
    }
  }
  made_ = std::vector<Made>(outputs);
  bound_.store(true, std::memory_order_release);
}

void RunningOps::note_made(const tensortap_op_event& event) {
  // Weights are reported from memory that the source does not keep.
  if (event.phase == TENSORTAP_PHASE_LOAD) return;
  const Link& link = links_[event.op];
  for (uint64_t i = 0; i < event.tensor_count; ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    if (tensor.slot_kind != TENSORTAP_SLOT_OUTPUT || tensor.slot_index >= link.outputs) continue;
    Made& made = made_[link.first_output + tensor.slot_index];
    made.known.store(false, std::memory_order_relaxed);
    made.run = event.run;
    made.tensor = RememberedTensor(tensor);
    made.known.store(true, std::memory_order_release);
  }
}

bool RunningOps::fill_next(RunningOp& last) const noexcept {
  if (last.op >= links_.size() || links_[last.op].next == kNoOp) return false;
  const Link& link = links_[links_[last.op].next];
  last.op = links_[last.op].next;
  last.call = 0;
  last.count = 0;
  for (uint32_t i = 0; i < link.inputs && last.count < RunningOp::kMostTensors; ++i) {
    const uint32_t position = inputs_[link.first_input + i];
    if (position == kUnknownInput) continue;
    const Made& made = made_[position];
    if (!made.known.load(std::memory_order_acquire) || made.run != last.run) continue;
    last.tensors[last.count++] = made.tensor.as_input(i);
  }
  return true;
}

}  // namespace tensortap
