#include "source/ggml/graph_run.h"

#include "base/silenced.h"

namespace tensortap::ggml {

GraphRun::GraphRun(GraphPlan& plan, const std::vector<GgmlTensor>& nodes, ComputedStep step, void* scheduler, OwnCallback own)
    : model_(*plan.model),
      plan_(plan),
      nodes_(nodes),
      step_(step),
      scheduler_(scheduler),
      own_(own),
      sent_(plan.input_count),
      reached_(nodes.size()) {
  model_.library.functions().set_eval_callback(scheduler_, &GraphRun::on_node, this);
}

GraphRun::~GraphRun() { model_.library.functions().set_eval_callback(scheduler_, own_.function, own_.user); }

// The program's callback may throw; ours does not.
bool GraphRun::on_node(void* tensor, bool ask, void* user) {
  auto& run = *static_cast<GraphRun*>(user);
  return ask ? run.is_asked(tensor) : run.is_computed(tensor);
}

bool GraphRun::is_asked(const void* tensor) {
  we_want_ = silenced(false, [&] { return wants(tensor); });
  own_wants_ = own_.function != nullptr && own_.function(const_cast<void*>(tensor), true, own_.user);
  return we_want_ || own_wants_;
}

// The op's output is seen before the program's callback, which may write into it.
bool GraphRun::is_computed(const void* tensor) {
  if (we_want_) {
    silenced(0, [&] { return capture(model_.library.tensor(tensor)), 0; });
    reached_[asked_] = true;
  }
  return !own_wants_ || own_.function(const_cast<void*>(tensor), false, own_.user);
}

bool GraphRun::wants(const void* tensor) {
  // Nodes come in the order of the graph; a scheduler may leave some out.
  size_t at = next_;
  while (at < nodes_.size() && nodes_[at].address() != tensor) ++at;
  if (at == nodes_.size()) return false;
  next_ = at + 1;
  PlannedNode& planned = plan_.nodes[at];
  if (planned.id == TENSORTAP_NO_OP || !nodes_[at].is_computed()) return false;
  send_inputs(planned, nodes_[at]);
  asked_ = at;
  if (tensortap_wants(model_.session, planned.id, step_.step) != 0) return true;
  reached_[at] = true;
  return false;
}

void GraphRun::send_inputs(PlannedNode& planned, GgmlTensor node) {
  for (PlannedInput& input : planned.inputs) {
    if (sent_[input.number]) continue;
    sent_[input.number] = true;
    if (tensortap_wants(model_.session, input.id, step_.step) == 0) continue;
    const GgmlTensor source = node.source(input.source);
    if (!source) continue;
    tensortap_tensor described{};
    if (const char* reason = model_.values.describe(source.base(), input.rank, scratch_, described)) {
      if (!input.told.exchange(true)) tensortap_not_captured(model_.session, input.id, reason);
      continue;
    }
    send(input.id, described);
  }
}

void GraphRun::capture(GgmlTensor tensor) {
  PlannedNode& planned = plan_.nodes[asked_];
  tensortap_tensor described{};
  const char* reason = planned.writes_rows ? model_.values.describe_written_rows(tensor, planned.rank, scratch_, described)
                                           : model_.values.describe(tensor, planned.rank, scratch_, described);
  if (reason == nullptr) return send(planned.id, described);
  if (!planned.told.exchange(true)) tensortap_not_captured(model_.session, planned.id, reason);
}

void GraphRun::send(tensortap_op_id id, const tensortap_tensor& tensor) {
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = id;
  event.step = step_.step;
  event.run = step_.run;
  event.phase = TENSORTAP_PHASE_INFERENCE;
  event.duration_ns = -1;
  event.call = 1;
  event.model_phase = step_.phase;
  event.tensors = &tensor;
  event.tensor_count = 1;
  tensortap_on_op(model_.session, &event);
}

void GraphRun::finish() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    PlannedNode& planned = plan_.nodes[i];
    if (reached_[i] || planned.id == TENSORTAP_NO_OP || !nodes_[i].is_computed() || tensortap_wants_op(model_.session, planned.id) == 0)
      continue;
    if (!planned.told.exchange(true)) {
      tensortap_not_captured(model_.session, planned.id,
                             "ggml did not report it: the computation ended before, or its backend leaves it out");
    }
  }
}

}  // namespace tensortap::ggml
