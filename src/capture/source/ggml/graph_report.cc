#include "source/ggml/graph_report.h"

namespace tensortap::ggml {

bool GraphReport::wants(size_t node) {
  PlannedNode& planned = plan_.nodes[node];
  if (planned.id == TENSORTAP_NO_OP || !nodes_[node].is_computed()) return false;
  send_inputs(planned, nodes_[node]);
  if (tensortap_wants(model_.session, planned.id, step_.step) != 0) return true;
  reached_[node] = true;
  return false;
}

void GraphReport::send_inputs(PlannedNode& planned, GgmlTensor node) {
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

void GraphReport::send_value(size_t node) {
  reached_[node] = true;
  PlannedNode& planned = plan_.nodes[node];
  tensortap_tensor described{};
  const char* reason = planned.writes_rows ? model_.values.describe_written_rows(nodes_[node], planned.rank, scratch_, described)
                                           : model_.values.describe(nodes_[node], planned.rank, scratch_, described);
  if (reason == nullptr) return send(planned.id, described);
  if (!planned.told.exchange(true)) tensortap_not_captured(model_.session, planned.id, reason);
}

void GraphReport::send(tensortap_op_id id, const tensortap_tensor& tensor) {
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

void GraphReport::finish() {
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
