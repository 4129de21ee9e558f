#include "source/ggml/graph_run.h"

#include "base/silenced.h"

namespace tensortap::ggml {

int compute_really(const tensortap_ggml_call& call, void* graph) {
  return call.kind == TENSORTAP_GGML_PLAN ? call.real(graph, call.computer) : call.real(call.computer, graph);
}

SchedulerRun::SchedulerRun(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes, GraphReport& report, void* scheduler,
                           OwnCallback own)
    : library_(library), nodes_(nodes), report_(report), scheduler_(scheduler), own_(own) {
  library_.functions().set_eval_callback(scheduler_, &SchedulerRun::on_node, this);
}

SchedulerRun::~SchedulerRun() { library_.functions().set_eval_callback(scheduler_, own_.function, own_.user); }

// The program's callback may throw; ours does not.
bool SchedulerRun::on_node(void* tensor, bool ask, void* user) {
  auto& run = *static_cast<SchedulerRun*>(user);
  return ask ? run.is_asked(tensor) : run.is_computed(tensor);
}

bool SchedulerRun::is_asked(const void* tensor) {
  we_want_ = silenced(false, [&] { return wants(tensor); });
  own_wants_ = own_.function != nullptr && own_.function(const_cast<void*>(tensor), true, own_.user);
  return we_want_ || own_wants_;
}

// The op's output is seen before the program's callback, which may write into it.
bool SchedulerRun::is_computed(const void* tensor) {
  if (we_want_) silenced(0, [&] { return report_.send_value(asked_), 0; });
  return !own_wants_ || own_.function(const_cast<void*>(tensor), false, own_.user);
}

bool SchedulerRun::wants(const void* tensor) {
  // Nodes come in the order of the graph; a scheduler may leave some out.
  size_t at = next_;
  while (at < nodes_.size() && nodes_[at].address() != tensor) ++at;
  if (at == nodes_.size()) return false;
  next_ = at + 1;
  asked_ = at;
  return report_.wants(at);
}

int compute_in_pieces(const GgmlLibrary& library, const tensortap_ggml_call& call, size_t nodes, GraphReport& report) {
  const GgmlFunctions& ggml = library.functions();
  int result = 0;
  size_t begin = 0;
  for (size_t at = 0; at < nodes; ++at) {
    const bool is_wanted = silenced(false, [&] { return report.wants(at); });
    const bool is_last = at + 1 == nodes;
    if (!is_wanted && !is_last) continue;
    if (begin == 0 && is_last) {
      result = compute_really(call, call.graph);
    } else {
      GraphBytes piece = ggml.graph_view(call.graph, static_cast<int>(begin), static_cast<int>(at + 1));
      result = compute_really(call, &piece);
    }
    if (result != 0) return result;
    if (is_wanted) {
      if (call.kind == TENSORTAP_GGML_BACKEND) ggml.synchronize(call.computer);
      silenced(0, [&] { return report.send_value(at), 0; });
    }
    begin = at + 1;
  }
  return nodes == 0 ? compute_really(call, call.graph) : result;
}

}  // namespace tensortap::ggml
