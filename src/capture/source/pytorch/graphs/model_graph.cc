#include "source/pytorch/graphs/model_graph.h"

#include <tensortap/asking.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "base/wait.h"
#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/graphs/graph_capture.h"
#include "source/pytorch/python/program_text.h"
#include "source/pytorch/session/torch_session.h"

namespace tensortap::pytorch {
namespace {

class ModelGraph final : public TorchSession {
 public:
  ModelGraph(tensortap_session* opened, TorchRuntime& given) : TorchSession(opened, given) {}

  std::atomic<bool> open{true};
  std::atomic<int> running{0};  // calls between step_begins() and step_ends()
};

// The graphs of this process. A number is never used again: compiled code keeps it. Finding a graph takes no lock.
class ModelGraphs {
 public:
  // From 1; 0 when there are too many.
  uint32_t add(ModelGraph* graph) {
    const std::lock_guard lock(mutex_);
    const uint32_t number = count_.load() + 1;
    if (number > kMost) return 0;
    graphs_[number - 1].store(graph, std::memory_order_release);
    count_.store(number);
    return number;
  }
  ModelGraph* find(uint32_t number) const {
    return number == 0 || number > kMost ? nullptr : graphs_[number - 1].load(std::memory_order_acquire);
  }
  [[nodiscard]] uint32_t count() const { return count_.load(); }

 private:
  static constexpr uint32_t kMost = 4096;

  std::mutex mutex_;  // guards adding
  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<ModelGraph*>, kMost> graphs_{};  // never destroyed: threads may be inside of one at any time
};

ModelGraphs& model_graphs() {
  static auto& graphs = *new ModelGraphs;
  return graphs;
}

std::string close_graph(uint32_t number);

std::atomic<pid_t> opener{0};  // the process that has the sessions: they are off in its children

bool is_opener() { return opener.load() == getpid(); }

void close_all() {
  if (!is_opener()) return;
  for (uint32_t number = 1; number <= model_graphs().count(); ++number) static_cast<void>(close_graph(number));
}

uint32_t open_graph(const ModelGraphOptions& given, std::string& problem) {
  TorchRuntime& runtime = torch_runtime();
  if (opener.load() != 0 && !is_opener()) {
    problem = "this process was forked from one whose graphs are dumped";
    return 0;
  }
  if (runtime.adapter.define_operators == nullptr || runtime.adapter.define_operators() != 0) {
    problem = "the adapter for this torch has no dump nodes; build it again with `tensortap build-adapter`";
    return 0;
  }
  static std::once_flag once;
  std::call_once(once, [] {
    opener.store(getpid());
    std::atexit(close_all);
  });
  tensortap_session_options options{};
  options.config = given.config.c_str();
  options.config_name = given.config_name.c_str();
  options.program = given.program.c_str();
  options.model = given.model.c_str();
  options.model_id = 1;
  options.device = given.device;
  options.timestamp = given.timestamp.empty() ? nullptr : given.timestamp.c_str();
  const Result<tensortap_session*> session = open_session(options, runtime);
  if (!session.ok()) {
    problem = session.status().message();
    return 0;
  }
  auto graph = std::make_unique<ModelGraph>(*session, runtime);
  const uint32_t number = model_graphs().add(graph.get());
  if (number == 0) {
    problem = "there are too many compiled graphs in this process";
    tensortap_session_discard(*session);
    return 0;
  }
  static_cast<void>(graph.release());  // the table's, for good
  return number;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// Ids of the ops that make an op's inputs.
std::vector<tensortap_op_id> producer_ids(ModelGraph& graph, const ModelOp& op) {
  std::vector<tensortap_op_id> ids;
  for (const uint32_t number : op.producers) {
    const KnownNode* node = graph_nodes().node(number);
    ids.push_back(node == nullptr || node->owner != &graph ? TENSORTAP_NO_OP : graph.op_of(*node, 0).id);
  }
  return ids;
}

tensortap_op_id register_op(ModelGraph& graph, const ModelOp& op) {
  const std::vector<const char*> inputs = pointers_to(op.node.inputs);
  const std::vector<tensortap_op_id> producers = producer_ids(graph, op);
  const std::string module = module_path(op.node.module);
  const std::string domain = op.node.op.substr(0, op.node.op.find("::"));
  const char* const original = op.original.c_str();
  const char* const original_type = op.node.op.c_str();
  tensortap_op described{};
  described.size = sizeof described;
  described.name = op.name.c_str();
  described.type = op.type.c_str();
  described.domain = domain.c_str();
  described.graph = "";
  described.module = module.c_str();
  described.source_location = op.node.source.empty() ? nullptr : op.node.source.c_str();
  const std::string line = program_line(op.node.source);
  described.source_text = line.empty() ? nullptr : line.c_str();
  described.originals = &original;
  described.original_types = &original_type;
  described.original_count = op.original.empty() ? 0 : 1;
  described.inputs = inputs.data();
  described.input_count = inputs.size();
  described.producers = producers.size() == inputs.size() ? producers.data() : nullptr;
  described.producer_slots = op.producer_slots.size() == inputs.size() ? op.producer_slots.data() : nullptr;
  described.attributes = op.node.attributes.empty() ? nullptr : op.node.attributes.c_str();
  described.parent = TENSORTAP_NO_OP;
  return tensortap_register_op(graph.session, &described);
}

uint32_t add_op(uint32_t number, ModelOp op) {
  ModelGraph* graph = model_graphs().find(number);
  if (graph == nullptr) return 0;
  auto* identity = new OpIdentity;  // lives as long as the process
  identity->name = op.name;
  identity->module = op.node.module;
  identity->id = register_op(*graph, op);
  const uint32_t known = op.node.op.empty() ? graph->runtime.operators.without_schema(op.type) : operator_of(graph->runtime, op.node);
  identity->op = known;
  identity->flags = graph->runtime.operators[known].flags;
  op.node.root = 0;
  const uint32_t added = graph_nodes().add_node(std::move(op.node), known, 0, false, graph);
  if (const KnownNode* node = graph_nodes().node(added); node != nullptr) graph->bind_node(*node, *identity);
  return added;
}

std::string bind_graph(uint32_t number) {
  ModelGraph* graph = model_graphs().find(number);
  if (graph == nullptr) return "unknown graph";
  std::array<char, 2000> message{};
  return tensortap_bind(graph->session, message.data(), message.size()) == TENSORTAP_OK ? "" : message.data();
}

bool step_begins(uint32_t number, int64_t step) {
  ModelGraph* graph = model_graphs().find(number);
  ThreadCalls* calls = thread_calls();
  if (graph == nullptr || calls == nullptr) return false;
  graph->running.fetch_add(1);
  const bool is_open = graph->open.load();
  if (!is_open || tensortap_step_begin(graph->session, step, run_of_call(step)) == 0) {
    if (is_open) tensortap_step_end(graph->session, step, run_of_call(step));
    graph->running.fetch_sub(1);
    return false;
  }
  // Writes into the graph's memory are not followed between its calls.
  graph->storages.lose_sight();
  calls->model_runs.push_back({graph, step, {}});
  return true;
}

void step_ends(uint32_t number, int64_t step) {
  ModelGraph* graph = model_graphs().find(number);
  ThreadCalls* calls = thread_calls();
  if (graph == nullptr) return;
  if (calls != nullptr && !calls->model_runs.empty()) calls->model_runs.pop_back();
  graph->storages.let_go_of_all();
  tensortap_step_end(graph->session, step, run_of_call(step));
  static_cast<void>(tensortap_session_flush(graph->session));
  graph->running.fetch_sub(1);
}

std::string close_graph(uint32_t number) {
  ModelGraph* graph = model_graphs().find(number);
  if (graph == nullptr || !is_opener() || !graph->open.exchange(false)) return "";
  // A thread that stays inside keeps the session.
  const bool all_left = wait_for_zero(graph->running);
  char* text = nullptr;
  if (all_left) {
    static_cast<void>(tensortap_session_end(graph->session, &text));
  } else {
    text = tensortap_session_report(graph->session);
  }
  std::string report = text == nullptr ? "{}" : text;
  tensortap_free(text);
  return report;
}

}  // namespace

const ModelEvents& model_events() {
  static const ModelEvents events = {open_graph, add_op, bind_graph, step_begins, step_ends, close_graph};
  return events;
}

}  // namespace tensortap::pytorch
