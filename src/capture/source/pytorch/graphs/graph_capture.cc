#include "source/pytorch/graphs/graph_capture.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/coverage_reasons.h"
#include "base/silenced.h"
#include "source/pytorch/events/call_keys.h"
#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/identity/graph_nodes.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {
namespace {

bool takes_nodes() {
  const EnteredCapture capture;
  // Only torch's own callbacks show a node's calls and its caller.
  if (!capture || capture->levels != 1U << TENSORTAP_LEVEL_OP || capture->identities.calls_apart()) return false;
  const tensortap_torch_adapter& adapter = capture->runtime.adapter;
  return adapter.define_operators != nullptr && adapter.define_operators() == 0;
}

uint32_t add_node(GraphNode told) {
  const EnteredCapture capture;
  const ThreadCalls* calls = thread_calls();
  if (!capture || calls == nullptr) return 0;
  const bool updates = told.scope.empty() && calls->optimizer != 0;
  const uint32_t scope = updates ? calls->optimizer : told.scope.empty() ? 0 : capture->runtime.scopes.number_of(told.scope);
  const uint32_t op = operator_of(capture->runtime, told);
  return graph_nodes().add_node(std::move(told), op, scope, updates);
}

int level_of_call(bool is_root) {
  const EnteredCapture capture;
  const ThreadCalls* calls = thread_calls();
  if (!capture || calls == nullptr) return -1;
  const bool calls_apart = capture->identities.calls_apart();
  // A model's call begins a round, whether or not anything of it is looked at.
  if (calls_apart && is_root && calls->compiling == 0 && calls->nodes.empty()) return TENSORTAP_LEVEL_MODEL;
  if (!calls_apart && (capture->levels & kModuleLevels) == 0) return -1;
  // A module that is called in the backward pass computes known values again.
  if (!capture->observing.load(std::memory_order_relaxed) || calls->compiling > 0 || !calls->nodes.empty()) return -1;
  if (calls_apart) return TENSORTAP_LEVEL_MODULE;
  if (is_root && (capture->levels & 1U << TENSORTAP_LEVEL_MODEL) != 0) return TENSORTAP_LEVEL_MODEL;
  return (capture->levels & 1U << TENSORTAP_LEVEL_MODULE) != 0 ? static_cast<int>(TENSORTAP_LEVEL_MODULE) : -1;
}

uint32_t add_module(ModuleId module, const std::string& type, uint32_t level) {
  const EnteredCapture capture;
  if (!capture || capture->runtime.adapter.define_operators == nullptr || capture->runtime.adapter.define_operators() != 0) return 0;
  GraphNode told;
  told.op = type;
  told.module = module;
  told.level = level;
  return graph_nodes().add_node(std::move(told), capture->runtime.operators.without_schema(type), 0, false);
}

bool tells_calls_apart() {
  const EnteredCapture capture;
  return capture && capture->identities.calls_apart();
}

bool tells_reads_after() {
  const EnteredCapture capture;
  return capture && capture->shows_reads_after;
}

void round_begins(ModuleId model, uint32_t phase) {
  const EnteredCapture capture;
  if (capture && capture->identities.calls_apart()) capture->steps.round_begins(model, phase);
}

uint64_t operation_begins(uint32_t number, bool unseen) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  if (calls == nullptr) return 0;
  const KnownNode* node = graph_nodes().node(number);
  if (!capture || node == nullptr) return calls->operations.begin(nullptr);
  OpKey key;
  key.op = node->op;
  key.module = node->told.module;
  key.level = node->told.level;
  const uint64_t own_number = uint64_t{1} << 63U | number;  // beside those of operators
  const CallPlace place = calls->operations.next_call(own_number, capture->steps.round());
  OpIdentity& identity = capture->identities.of_node(key, node->told, place);
  if (unseen && !identity.told.exchange(true, std::memory_order_relaxed)) {
    tensortap_not_captured(capture->session, identity.id, kReasonInsideCompiled.data());
  }
  const size_t before = calls->operations.begin(&identity);
  calls->operations.begins_now(monotonic_ns());
  return before;
}

void operation_ends(uint64_t before) {
  if (ThreadCalls* calls = thread_calls()) calls->operations.end(before);
}

uint32_t add_kernel(GraphNode told) {
  const EnteredCapture capture;
  const tensortap_torch_adapter& adapter = torch_runtime().adapter;
  if (!capture || adapter.define_operators == nullptr || adapter.define_operators() != 0) return 0;
  told.is_launch = true;
  const uint32_t op = capture->runtime.operators.without_schema(told.op);
  return graph_nodes().add_node(std::move(told), op, 0, false);
}

// Without the level "kernel", a launch that no operator makes is an op: no other op has its values.
int level_of_launch(const TorchCapture& capture, const ThreadCalls& calls) {
  if ((capture.levels & 1U << TENSORTAP_LEVEL_KERNEL) != 0) return TENSORTAP_LEVEL_KERNEL;
  return calls.depth == 0 && (capture.levels & 1U << TENSORTAP_LEVEL_OP) != 0 ? static_cast<int>(TENSORTAP_LEVEL_OP) : -1;
}

OpIdentity& op_of_launch(TorchCapture& capture, ThreadCalls& calls, const KnownNode& node, uint32_t number, OpKey key,
                         std::vector<std::string> inputs) {
  add_place(key, calls);
  CallPlace place;
  if (capture.identities.calls_apart()) {
    const uint32_t pass = calls.nodes.empty() && calls.optimizer == 0 ? 0 : phase_of(calls, false);
    place = calls.operations.next_call(uint64_t{1} << 62U | number, capture.steps.round(), pass);
  }
  GraphNode told = node.told;
  told.inputs = std::move(inputs);
  told.source = source_text(key.forward != nullptr ? key.forward->position : key.position);
  return capture.identities.of_node(key, told, place);
}

int launch_begins(uint32_t number, bool records_gradients, std::vector<std::string> inputs) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  const KnownNode* node = graph_nodes().node(number);
  if (!capture || calls == nullptr || node == nullptr) return -1;
  if (calls->compiling > 0 || !capture->observing.load(std::memory_order_relaxed)) return -1;
  if (capture->identities.calls_apart() && !capture->steps.model_runs()) return -1;
  const int level = level_of_launch(*capture.get(), *calls);
  if (level < 0) return -1;
  OpKey key;
  key.op = node->op;
  key.level = static_cast<uint8_t>(level);
  calls->launch = &op_of_launch(*capture.get(), *calls, *node, number, key, std::move(inputs));
  calls->launch_began_ns = monotonic_ns();
  return static_cast<int>(phase_of(*calls, records_gradients));
}

void launch_ends() {
  if (ThreadCalls* calls = thread_calls()) calls->launch = nullptr;
}

uint32_t wanted_of(TorchSession& session, const KnownNode& node, ModuleId root) {
  const OpIdentity& identity = session.op_of(node, root);
  uint32_t wanted = tensortap_wants_op(session.session, identity.id) != 0 ? kNodeWanted : 0U;
  if ((identity.flags & TENSORTAP_TORCH_OP_UNWRITTEN) != 0) wanted |= kNodeAllocates;
  return wanted;
}

uint32_t wants_node(uint32_t number, ModuleId root) {
  const KnownNode* node = graph_nodes().node(number);
  if (node == nullptr) return 0;
  if (node->owner != nullptr) return wanted_of(*node->owner, *node, node->told.root);
  const EnteredCapture capture;
  return capture ? wanted_of(*capture.get(), *node, root) : 0;
}

int64_t add_site(const DumpRole& role, std::vector<DumpSlot> slots) { return graph_nodes().add_site(role, std::move(slots)); }

int64_t graph_begins(ModuleId root, bool backward) {
  const EnteredCapture capture;
  ThreadCalls* calls = thread_calls();
  if (capture && capture->steps.lingers()) capture->steps.move_on();
  if (!capture || calls == nullptr || !capture->observing.load(std::memory_order_relaxed)) return -1;
  uint64_t thread = 0;
  int64_t next = 0;
  capture->runtime.adapter.graph_begin(&thread, &next);
  const OpIdentity* ran = calls->nodes.empty() ? nullptr : calls->nodes.back().forward;
  ModuleId runs_for = root;
  if (backward) {
    if (ran != nullptr && ran->is_graph) runs_for = ran->module;
  } else {
    if (root != 0 && current_module() != 0) runs_for = current_module();
    // The node of the graph as a whole was made just now.
    capture->links.note(thread, next - 1, &capture->place_of_graph(runs_for));
  }
  calls->graph_roots.push_back(runs_for);
  return runs_for;
}

void graph_ends() {
  torch_runtime().adapter.graph_end();
  if (ThreadCalls* calls = thread_calls(); calls != nullptr && !calls->graph_roots.empty()) calls->graph_roots.pop_back();
}

void wrote_unseen() {
  if (const EnteredCapture capture; capture) capture->storages.lose_sight();
}

void compile_begins() {
  if (ThreadCalls* calls = thread_calls()) ++calls->compiling;
  const EnteredCapture capture;
  if (!capture) return;
  capture->traced.begin();
  capture->observe();
}

void compile_ends() {
  if (ThreadCalls* calls = thread_calls(); calls != nullptr && calls->compiling > 0) --calls->compiling;
  const EnteredCapture capture;
  if (!capture) return;
  capture->traced.end();
  capture->observe();
}

std::string autograd_names() {
  const EnteredCapture capture;
  return capture ? capture->traced.names() : "";
}

// Where a dump node runs: the step and run of its session, the module of its graph, and the blocks of the session that the thread met.
struct DumpPlace {
  int64_t step;
  uint64_t run;
  ModuleId root;
  MetStorages& met;
  std::vector<tensortap_tensor>& gathered;  // the reported tensors
  OpIdentity* operation = nullptr;          // whose dump it is, where that is not the node's own
  int64_t duration_ns = -1;                 // of its call that ended
  uint32_t model_phase = 0;
};

tensortap_op_event event_of(const TorchSession& session, const DumpSite& site, const DumpPlace& place, OpIdentity& identity) {
  tensortap_op_event event{};
  event.size = sizeof event;
  event.op = identity.id;
  event.step = place.step;
  event.run = place.run;
  event.phase = site.node->updates ? static_cast<uint32_t>(TENSORTAP_PHASE_UPDATE) : site.role.phase;
  event.moment = TENSORTAP_MOMENT_AFTER;
  event.duration_ns = place.duration_ns;
  event.tensors = place.gathered.data();
  event.tensor_count = place.gathered.size();
  event.parallel_for = session.runtime.adapter.parallel_for;
  event.model_phase = place.model_phase;
  event.call = ((site.role.flags & kDumpSecond) != 0 ? identity.last_call(place.step) : identity.count_call(place.step)) + 1;
  if ((site.role.flags & kDumpFirst) != 0) event.flags |= TENSORTAP_EVENT_READ_FIRST;
  return event;
}

// Gathers the tensors of a dump that are reported to the session. Notes the node's writes and allocations even if it is not wanted.
void gather(TorchSession& session, const DumpSite& site, const DumpPlace& place, OpIdentity& identity, bool wanted,
            std::span<const tensortap_torch_tensor> tensors) {
  const bool allocates = (identity.flags & TENSORTAP_TORCH_OP_UNWRITTEN) != 0;
  // A module passes on the values of its ops.
  const bool makes = site.node->told.level == TENSORTAP_LEVEL_OP;
  place.gathered.clear();
  for (const DumpSlot& slot : site.slots) {
    if (slot.tensor >= tensors.size() || tensors[slot.tensor].kind == TENSORTAP_TORCH_UNDEFINED) continue;
    const tensortap_torch_tensor& tensor = tensors[slot.tensor];
    if ((slot.flags & kSlotChanged) != 0) static_cast<void>(session.storages.wrote(tensor, place.met));
    const bool is_output = slot.kind == TENSORTAP_SLOT_OUTPUT;
    StorageContent content;
    if (allocates && is_output) content = session.storages.allocated(tensor, place.met);
    if (!wanted || (slot.flags & kSlotOnlyNoted) != 0) continue;
    if (!allocates || !is_output)
      content = is_output && makes ? session.storages.made(tensor, place.met) : session.storages.look(tensor, place.met);
    tensortap_tensor one;
    if ((slot.flags & kSlotIfWritten) != 0 && content.unwritten) continue;
    if (!session.describe(identity, tensor, content, one)) continue;
    one.slot_kind = slot.kind;
    one.slot_index = slot.slot;
    one.element = slot.element;
    place.gathered.push_back(one);
  }
}

void dump_into(TorchSession& session, const DumpSite& site, const DumpPlace& place, std::span<const tensortap_torch_tensor> tensors) {
  // Tracing runs a graph on tensors without values.
  if (!tensors.empty() && (tensors[0].kind == TENSORTAP_TORCH_WRAPPER || tensors[0].kind == TENSORTAP_TORCH_META)) return;
  OpIdentity& identity = place.operation != nullptr ? *place.operation : session.op_of(*site.node, place.root);
  const bool failed = (site.role.flags & kDumpFailed) != 0;
  const bool wanted = failed || tensortap_wants(session.session, identity.id, place.step) != 0;
  session.storages.let_go(place.met);
  gather(session, site, place, identity, wanted, tensors);
  if (!wanted || (site.role.flags & kDumpNotesOnly) != 0) return;
  const tensortap_op_event event = event_of(session, site, place, identity);
  if (failed) {
    tensortap_op_failed(session.session, &event, "the operator raised an exception");
  } else {
    tensortap_on_op(session.session, &event);
  }
}

void dump(int64_t number, std::span<const tensortap_torch_tensor> tensors) {
  const DumpSite* site = graph_nodes().site(number);
  ThreadCalls* calls = thread_calls();
  if (site == nullptr || calls == nullptr) return;
  if (TorchSession* owner = site->node->owner; owner != nullptr) {
    // The innermost call of the graph. Without one, the nodes run for a caller that does not count calls.
    const auto run = std::ranges::find(calls->model_runs.rbegin(), calls->model_runs.rend(), owner, &ModelRun::session);
    const bool is_call = run != calls->model_runs.rend();
    const int64_t step = is_call ? run->step : owner->steps.current();
    MetStorages& met = is_call ? run->met : calls->met;
    met.now = {step, false};
    return dump_into(*owner, *site, {step, is_call ? run_of_call(step) : 0, site->node->told.root, met, calls->tensors}, tensors);
  }
  const EnteredCapture capture;
  if (!capture) return;
  tell_that_it_goes_on(*calls, capture->session);
  if (capture->steps.lingers()) capture->steps.move_on();
  calls->met.now = capture->write_time(calls->optimizer != 0);
  if (!capture->observing.load(std::memory_order_relaxed)) return;
  const ModuleId root = calls->graph_roots.empty() ? site->node->told.root : calls->graph_roots.back();
  const bool is_module = (1U << site->node->told.level & kModuleLevels) != 0;
  const bool is_launch = site->node->told.is_launch;
  if (is_launch && calls->launch == nullptr) return;
  OpIdentity* const operation = is_launch ? calls->launch : is_module ? calls->operations.innermost() : nullptr;
  DumpPlace place{capture->steps.current(), capture->steps.run(), root, calls->met, calls->tensors, operation};
  place.model_phase = capture->steps.model_phase();
  const bool begins = (site->role.flags & kDumpFirst) != 0;
  const int64_t began_ns = is_launch ? calls->launch_began_ns : calls->operations.began_ns();
  if (operation != nullptr && !begins) place.duration_ns = monotonic_ns() - began_ns;
  dump_into(*capture.get(), *site, place, tensors);
  calls->has_failed = (site->role.flags & kDumpFailed) != 0;
  // The time spent on reporting the module's inputs is not the module's time.
  if (is_launch) {
    calls->launch_began_ns = monotonic_ns();
  } else if (operation != nullptr && begins) {
    calls->operations.begins_now(monotonic_ns());
  }
}

}  // namespace

uint32_t operator_of(TorchRuntime& runtime, const GraphNode& told) {
  const int64_t found = runtime.adapter.find_op(told.op.c_str(), told.overload.c_str());
  return found >= 0 ? static_cast<uint32_t>(found) : runtime.operators.without_schema(told.op);
}

const GraphEvents& graph_events() {
  static const GraphEvents events = {takes_nodes,      add_node,       wants_node,        add_site,          graph_begins,
                                     graph_ends,       wrote_unseen,   compile_begins,    compile_ends,      autograd_names,
                                     level_of_call,    add_module,     tells_calls_apart, tells_reads_after, round_begins,
                                     operation_begins, operation_ends, add_kernel,        launch_begins,     launch_ends};
  return events;
}

void dump_graph_node(int64_t site, const tensortap_torch_tensor* tensors, uint32_t count) {
  silenced(0, [&] { return dump(site, {tensors, count}), 0; });
}

}  // namespace tensortap::pytorch
