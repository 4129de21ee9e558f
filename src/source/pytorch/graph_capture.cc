#include "source/pytorch/graph_capture.h"

#include <tensortap/capture.h>

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/silenced.h"
#include "base/text.h"
#include "source/pytorch/graph_nodes.h"
#include "source/pytorch/module_table.h"
#include "source/pytorch/thread_calls.h"
#include "source/pytorch/torch_capture.h"
#include "source/pytorch/tracker.h"

namespace tensortap {
namespace {

GraphNodes& graph_nodes() {
  static auto& nodes = *new GraphNodes;
  return nodes;
}

// Names of autograd nodes by their sequence numbers, of the graph that is being traced.
struct TracedNodes {
  std::mutex mutex;
  std::map<int64_t, std::string> names;
  std::atomic<int> tracing{0};
};
TracedNodes& traced_nodes() {
  static auto& nodes = *new TracedNodes;
  return nodes;
}

bool is_inside(const std::string& path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.');
}

// The path of a module, or the name of a parameter, with one root in the place of another.
std::string moved(const std::string& path, const std::string& from, const std::string& to) {
  if (from.empty() || !is_inside(path, from)) return path;
  return to.empty() && path.size() > from.size() ? path.substr(from.size() + 1) : to + path.substr(from.size());
}

// "blocks.0" of "Net.blocks.0": what parameters below a module are named by.
std::string inside_tree(const std::string& path) {
  const size_t dot = path.find('.');
  return dot == std::string::npos ? std::string() : path.substr(dot + 1);
}

// What was told of a node, for another instance that runs its graph.
GraphNode for_root(const GraphNode& told, ModuleId root) {
  GraphNode node = told;
  if (root == told.root) return node;
  const std::string from = module_path(told.root);
  const std::string to = module_path(root);
  node.module = number_of_path(moved(module_path(told.module), from, to));
  for (std::string& name : node.inputs) name = moved(name, inside_tree(from), inside_tree(to));
  return node;
}

const BoundNode* find_bound(const BoundNode* bound, uint64_t generation, ModuleId root) {
  while (bound != nullptr && (bound->generation != generation || bound->root != root)) bound = bound->next;
  return bound;
}

// Which of the dump's ops a node is.
OpIdentity& op_of(TorchCapture& capture, const KnownNode& node, ModuleId root) {
  const BoundNode* first = node.bound.load(std::memory_order_acquire);
  if (const BoundNode* bound = find_bound(first, capture.generation, root)) return *bound->identity;
  const GraphNode told = for_root(node.told, root);
  OpKey key;
  key.op = node.op;
  key.module = told.module;
  key.position = {&node, static_cast<int32_t>(root)};
  key.forward = node.forward == nullptr ? nullptr : &op_of(capture, *node.forward, root);
  key.scope = node.scope;
  key.level = TENSORTAP_LEVEL_OP;
  OpIdentity& identity = capture.identities.of_node(key, told);
  // What was bound stays: somebody may be reading it.
  auto* bound = new BoundNode{capture.generation, root, &identity, first};
  while (!node.bound.compare_exchange_weak(bound->next, bound, std::memory_order_release)) {
  }
  return identity;
}

// Stands for the op that a compiled graph's backward node belongs to.
const OpIdentity* place_of_graph(ModuleId root) {
  static auto& mutex = *new std::mutex;
  static auto& places = *new std::map<ModuleId, OpIdentity>;
  const std::lock_guard lock(mutex);
  OpIdentity& place = places[root];
  place.module = root;
  place.is_graph = true;
  place.name = module_path(root);
  return &place;
}

uint32_t op_number(const GraphNode& told) {
  TorchRuntime& runtime = torch_runtime();
  const int64_t found = runtime.adapter.find_op(told.op.c_str(), told.overload.c_str());
  if (found >= 0) return static_cast<uint32_t>(found);
  // A higher-order operator: it has no schema.
  static auto& mutex = *new std::mutex;
  static auto& described = *new std::map<std::string, uint32_t>;
  const std::lock_guard lock(mutex);
  const auto [place, added] = described.try_emplace(told.op, 0);
  if (added) {
    tensortap_torch_op op{};
    op.size = sizeof op;
    op.name = told.op.c_str();
    op.overload = "";
    op.return_count = 1;
    place->second = runtime.operators.add(op);
  }
  return place->second;
}

bool takes_nodes() {
  const EnteredCapture capture;
  // Other levels show what a node calls, and what it was called by: only torch's own callbacks do.
  if (!capture || capture->levels != 1U << TENSORTAP_LEVEL_OP) return false;
  const tensortap_torch_adapter& adapter = capture->runtime.adapter;
  return adapter.define_dump != nullptr && adapter.define_dump() == 0;
}

uint32_t add_node(GraphNode told) {
  const EnteredCapture capture;
  const ThreadCalls* calls = thread_calls();
  if (!capture || calls == nullptr) return 0;
  const bool updates = told.scope.empty() && calls->optimizer != 0;
  const uint32_t scope = updates ? calls->optimizer : told.scope.empty() ? 0 : capture->runtime.scopes.number_of(told.scope);
  const uint32_t op = op_number(told);
  return graph_nodes().add_node(std::move(told), op, scope, updates);
}

uint32_t wants_node(uint32_t number, ModuleId root) {
  const EnteredCapture capture;
  const KnownNode* node = graph_nodes().node(number);
  if (!capture || node == nullptr) return 0;
  const OpIdentity& identity = op_of(*capture.get(), *node, root);
  uint32_t wanted = tensortap_wants_op(capture->session, identity.id) != 0 ? kNodeWanted : 0U;
  if ((identity.flags & TENSORTAP_TORCH_OP_UNWRITTEN) != 0) wanted |= kNodeAllocates;
  return wanted;
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
    capture->links.note(thread, next - 1, place_of_graph(runs_for));
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
  {
    TracedNodes& traced = traced_nodes();
    const std::lock_guard lock(traced.mutex);
    if (traced.tracing.fetch_add(1) == 0) traced.names.clear();
  }
  const EnteredCapture capture;
  if (!capture) return;
  capture->tracing.fetch_add(1);
  capture->observe();
}

void compile_ends() {
  if (ThreadCalls* calls = thread_calls(); calls != nullptr && calls->compiling > 0) --calls->compiling;
  traced_nodes().tracing.fetch_sub(1);
  if (const EnteredCapture capture; capture && capture->tracing.load() > 0) {
    capture->tracing.fetch_sub(1);
    capture->observe();
  }
}

std::string autograd_names() {
  TracedNodes& traced = traced_nodes();
  const std::lock_guard lock(traced.mutex);
  std::string text;
  for (const auto& [sequence, name] : traced.names) text += concat(sequence, " ", name, "\n");
  return text;
}

tensortap_op_event event_of(const TorchCapture& capture, const DumpSite& site, OpIdentity& identity, const ThreadCalls& calls,
                            int64_t step) {
  tensortap_op_event event{};
  event.size = sizeof event;
  event.op = identity.id;
  event.step = step;
  event.phase = site.node->updates ? static_cast<uint32_t>(TENSORTAP_PHASE_UPDATE) : site.role.phase;
  event.moment = TENSORTAP_MOMENT_AFTER;
  event.duration_ns = -1;
  event.tensors = calls.tensors.data();
  event.tensor_count = calls.tensors.size();
  event.parallel_for = capture.runtime.adapter.parallel_for;
  event.call = ((site.role.flags & kDumpSecond) != 0 ? identity.last_call(step) : identity.count_call(step)) + 1;
  if ((site.role.flags & kDumpFirst) != 0) event.flags |= TENSORTAP_EVENT_READ_FIRST;
  return event;
}

// Gathers what the session is told of a dump's tensors. What the node wrote or allocated is noted whether or not it is wanted.
void gather(TorchCapture& capture, const DumpSite& site, OpIdentity& identity, bool wanted, std::span<const tensortap_torch_tensor> tensors,
            ThreadCalls& calls) {
  const bool allocates = (identity.flags & TENSORTAP_TORCH_OP_UNWRITTEN) != 0;
  calls.tensors.clear();
  for (const DumpSlot& slot : site.slots) {
    if (slot.tensor >= tensors.size() || tensors[slot.tensor].kind == TENSORTAP_TORCH_UNDEFINED) continue;
    const tensortap_torch_tensor& tensor = tensors[slot.tensor];
    if ((slot.flags & kSlotChanged) != 0) static_cast<void>(capture.storages.wrote(tensor, calls.met));
    const bool is_output = slot.kind == TENSORTAP_SLOT_OUTPUT;
    StorageContent content;
    if (allocates && is_output) content = capture.storages.allocated(tensor, calls.met);
    if (!wanted || (slot.flags & kSlotOnlyNoted) != 0) continue;
    if (!allocates || !is_output) content = is_output ? capture.storages.made(tensor, calls.met) : capture.storages.look(tensor, calls.met);
    tensortap_tensor one;
    if (!to_session(capture, identity, tensor, content, one)) continue;
    one.slot_kind = slot.kind;
    one.slot_index = slot.slot;
    one.element = slot.element;
    calls.tensors.push_back(one);
  }
}

void dump(int64_t number, const tensortap_torch_tensor* tensors, uint32_t count) {
  const EnteredCapture capture;
  const DumpSite* site = graph_nodes().site(number);
  ThreadCalls* calls = thread_calls();
  if (!capture || site == nullptr || calls == nullptr) return;
  if (capture->steps.lingers()) capture->steps.move_on();
  calls->met.now = capture->write_time(calls->optimizer != 0);
  if (!capture->observing.load(std::memory_order_relaxed)) return;
  // Tracing runs a graph on tensors without values.
  if (count > 0 && (tensors[0].kind == TENSORTAP_TORCH_WRAPPER || tensors[0].kind == TENSORTAP_TORCH_META)) return;
  OpIdentity& identity = op_of(*capture.get(), *site->node, calls->graph_roots.empty() ? site->node->told.root : calls->graph_roots.back());
  const int64_t step = capture->steps.current();
  const bool failed = (site->role.flags & kDumpFailed) != 0;
  const bool wanted = failed || tensortap_wants(capture->session, identity.id, step) != 0;
  capture->storages.let_go(calls->met);
  gather(*capture.get(), *site, identity, wanted, {tensors, count}, *calls);
  if (!wanted || (site->role.flags & kDumpNotesOnly) != 0) return;
  const tensortap_op_event event = event_of(*capture.get(), *site, identity, *calls, step);
  if (failed) {
    tensortap_op_failed(capture->session, &event, "the operator raised an exception");
  } else {
    tensortap_on_op(capture->session, &event);
  }
}

}  // namespace

const GraphEvents& graph_events() {
  static const GraphEvents events = {takes_nodes, add_node,     wants_node,     add_site,     graph_begins,
                                     graph_ends,  wrote_unseen, compile_begins, compile_ends, autograd_names};
  return events;
}

void dump_graph_node(int64_t site, const tensortap_torch_tensor* tensors, uint32_t count) {
  silenced(0, [&] { return dump(site, tensors, count), 0; });
}

void note_traced_node(int64_t sequence_number, std::string_view name) {
  TracedNodes& traced = traced_nodes();
  if (traced.tracing.load(std::memory_order_relaxed) == 0 || sequence_number < 0) return;
  const std::lock_guard lock(traced.mutex);
  traced.names[sequence_number] = std::string(name);
}

}  // namespace tensortap
