#include "source/pytorch/entry/tracker.h"

#include <tensortap/asking.h>

#include <atomic>
#include <string_view>

#include "base/silenced.h"
#include "source/pytorch/device/kernel_functions.h"
#include "source/pytorch/events/operator_calls.h"
#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/graphs/graph_capture.h"
#include "source/pytorch/graphs/model_graph.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {
namespace {

constexpr std::string_view kOptimizerStep = "Optimizer.step#";
constexpr std::string_view kGraphNode = "CompiledFunctionBackward";
constexpr std::string_view kAutograd = "torch::autograd::";

void node_begin(const tensortap_torch_node* node) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  if (calls == nullptr) return;
  RunningNode running;
  if (capture) {
    std::string_view short_name = node->name;
    if (short_name.starts_with(kAutograd)) short_name.remove_prefix(kAutograd.size());
    running.name = calls->names.number_of(short_name, capture->runtime.scopes);
    capture->traced.note(node->sequence_number, short_name);
    running.forward = capture->links.find(node->forward_thread, node->sequence_number);
    // No op makes the node of a compiled graph.
    const bool is_graph = std::string_view(node->name) == kGraphNode;
    if (is_graph && running.forward != nullptr && !running.forward->is_graph) running.forward = nullptr;
    capture->steps.backward_ran();
  }
  calls->nodes.push_back(running);
}

// The engine's announcement of a node comes around the node itself, and learns from it what it belongs to.
void node_end() {
  ThreadCalls* calls = thread_calls();
  if (calls == nullptr || calls->nodes.empty()) return;
  const RunningNode ended = calls->nodes.back();
  calls->nodes.pop_back();
  if (calls->nodes.empty() || calls->nodes.back().name != ended.name) return;
  if (calls->nodes.back().forward == nullptr) calls->nodes.back().forward = ended.forward;
}

bool is_optimizer_step(const char* name) { return std::string_view(name).starts_with(kOptimizerStep); }

void scope_begin(const char* name) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  if (!capture || calls == nullptr || !is_optimizer_step(name)) return;
  calls->optimizer = calls->names.number_of(name + kOptimizerStep.size(), capture->runtime.scopes);
}

void scope_end(const char* name) {
  ThreadCalls* calls = thread_calls();
  if (!is_optimizer_step(name) || calls == nullptr) return;
  calls->optimizer = 0;
  const EnteredCapture capture;
  if (capture) capture->steps.optimizer_ends(name, calls->optimizer_address);
  calls->optimizer_address = nullptr;
}

uint32_t guarded_describe(const tensortap_torch_op* op) {
  return silenced(0U, [op] { return torch_runtime().operators.add(*op); });
}
void* guarded_begin(const tensortap_torch_call* call, uint64_t torch_thread) {
  return silenced<void*>(nullptr, [&] { return operator_begins(call, torch_thread); });
}
void guarded_end(const tensortap_torch_call* call) {
  silenced(0, [call] { return operator_ends(call), 0; });
}
void guarded_node_begin(const tensortap_torch_node* node) {
  silenced(0, [node] { return node_begin(node), 0; });
}
void guarded_scope_begin(const char* name) {
  silenced(0, [name] { return scope_begin(name), 0; });
}
void guarded_scope_end(const char* name) {
  silenced(0, [name] { return scope_end(name), 0; });
}
void guarded_collective(void* token, const tensortap_torch_tensor* tensors, uint32_t count, const char* error) {
  silenced(0, [&] { return collective_done(token, tensors, count, error), 0; });
}

// Whether an optimizer was ever made in this process.
constinit std::atomic<bool> has_optimizers{false};

bool recomputes() {
  const ThreadCalls* calls = thread_calls();
  return calls != nullptr && !calls->nodes.empty();
}

void root_module_begins(ModuleId module, const RootCall& call) {
  const EnteredCapture capture;
  if (!capture || recomputes()) return;
  const bool trains = has_optimizers.load(std::memory_order_relaxed);
  if (trains) capture->steps.optimizer_may_come();
  RootCall told = call;
  if (told.model_phase == kPhaseMayTrain) told.model_phase = trains ? TENSORTAP_MODEL_PHASE_TRAIN : TENSORTAP_MODEL_PHASE_NONE;
  capture->steps.root_module_begins(module, told);
}

bool takes_requests() {
  const EnteredCapture capture;
  const bool takes = capture && capture->takes_requests.load(std::memory_order_relaxed);
  return takes && capture->enabled.load(std::memory_order_relaxed) && capture->step_wanted.load(std::memory_order_relaxed);
}

void add_requests(const char* json) {
  const EnteredCapture capture;
  if (!capture) return;
  const int code = tensortap_add_requests(capture->session, capture->steps.current(), capture->steps.model_phase(), json);
  // The layout cannot store them, or the dump is full.
  if (code != TENSORTAP_OK) capture->takes_requests.store(false, std::memory_order_relaxed);
}

bool is_step_of_path(const char* path, const char* type) {
  const EnteredCapture capture;
  return capture && tensortap_is_step_module(capture->session, path, type) != 0;
}

void step_module_begins() {
  const EnteredCapture capture;
  if (!capture) return;
  tensortap_step_module_called(capture->session);
  if (!recomputes()) capture->steps.chosen_module_begins();
}

// The interpreter reports after the scope began.
void optimizer_steps(const void* optimizer) {
  if (ThreadCalls* calls = thread_calls()) calls->optimizer_address = optimizer;
}

void optimizer_made(const void* optimizer) {
  has_optimizers.store(true, std::memory_order_relaxed);
  const EnteredCapture capture;
  if (capture) capture->steps.optimizer_made(optimizer);
}

void optimizer_gone(const void* optimizer) {
  const EnteredCapture capture;
  if (capture) capture->steps.optimizer_gone(optimizer);
}

bool program_raised(const char* text, const char* const* lines, size_t line_count) {
  const EnteredCapture capture;
  return capture && tensortap_program_raised(capture->session, text, lines, line_count) != 0;
}

void set_dump(ModuleId module, const char* op, bool enabled) {
  const EnteredCapture capture;
  if (capture) capture->identities.request({module == 0 ? "" : module_path(module), op == nullptr ? "" : op, enabled});
}

void enable(bool enabled) {
  const EnteredCapture capture;
  if (!capture) return;
  capture->enabled.store(enabled);
  capture->steps.pause(!enabled);
  capture->observe();
}

}  // namespace

const tensortap_torch_tracker& tracker_functions() {
  static const tensortap_torch_tracker functions = {sizeof(tensortap_torch_tracker),
                                                    TENSORTAP_ADAPTER_INTERFACE_VERSION,
                                                    guarded_describe,
                                                    guarded_begin,
                                                    guarded_end,
                                                    guarded_node_begin,
                                                    node_end,
                                                    guarded_scope_begin,
                                                    guarded_scope_end,
                                                    guarded_collective,
                                                    dump_graph_node,
                                                    kernel_bytes,
                                                    launch_kernel,
                                                    read_kernel};
  return functions;
}

void program_ends_step() {
  const EnteredCapture capture;
  if (capture) capture->steps.program_steps();
}

void follow_python(const char* (*open)(const char* config, const char* config_name, const char* out), const char* (*close)(),
                   void (*worker_begins)()) {
  PythonEvents events;
  events.open = open;
  events.close = close;
  events.worker_begins = worker_begins;
  events.root_module_begins = root_module_begins;
  events.takes_requests = takes_requests;
  events.add_requests = add_requests;
  events.step = program_ends_step;
  events.optimizer_steps = optimizer_steps;
  events.optimizer_made = optimizer_made;
  events.optimizer_gone = optimizer_gone;
  events.program_raised = program_raised;
  events.is_step_module = is_step_of_path;
  events.step_module_begins = step_module_begins;
  events.set_dump = set_dump;
  events.add_fact = add_fact;
  events.names_groups = names_groups;
  events.enable = enable;
  events.graphs = &graph_events();
  events.models = &model_events();
  set_python_events(events);
}

}  // namespace tensortap::pytorch
