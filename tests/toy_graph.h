// A toy runtime that knows its graph before it runs, in any config language.

#ifndef TENSORTAP_TESTS_TOY_GRAPH_H_
#define TENSORTAP_TESTS_TOY_GRAPH_H_

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "toy_engine.h"

namespace toy {

struct Reads {
  tensortap_op_id op;
  uint32_t slot = 0;
};

// One run of a program under a config: ops are added, bound, run step by step, and the session closed.
class Graph {
 public:
  explicit Graph(const std::string& config, const std::string& model = "m", const std::string& graph = "g") {
    tensortap_session_options options{};
    options.size = sizeof(options);
    options.version = TENSORTAP_CAPTURE_VERSION;
    options.config = config.c_str();
    options.config_name = "config.json";
    options.source = "toy 1.0";
    options.program = "toy";
    options.model = model.c_str();
    options.graph = graph.c_str();
    options.model_id = 1;
    std::array<char, 4096> message{};
    status_ = tensortap_session_open(&options, &session_, message.data(), message.size());
    message_ = message.data();
  }
  ~Graph() { close(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] tensortap_session* session() const { return session_; }

  // Its output is a value of the op's name.
  tensortap_op_id add(const std::string& name, const std::string& type, const std::vector<Reads>& reads = {}) {
    std::vector<const char*> inputs;
    std::vector<tensortap_op_id> producers;
    std::vector<uint32_t> slots;
    for (const Reads& one : reads) {
      inputs.push_back(one.op < names_.size() ? names_[one.op].c_str() : "");  // a session that is off has no ops
      producers.push_back(one.op);
      slots.push_back(one.slot);
    }
    names_.push_back(name);
    const char* output = name.c_str();
    tensortap_op op{};
    op.size = sizeof(op);
    op.name = name.c_str();
    op.type = type.c_str();
    op.inputs = inputs.data();
    op.producers = producers.data();
    op.producer_slots = slots.data();
    op.input_count = reads.size();
    op.outputs = &output;
    op.output_count = 1;
    op.parent = TENSORTAP_NO_OP;
    return tensortap_register_op(session_, &op);
  }
  int bind() { return tensortap_bind(session_, nullptr, 0); }

  // The values that the ops of a step made, in their order.
  using Made = std::vector<std::pair<tensortap_op_id, std::vector<float>>>;
  void step(int64_t number, const Made& made) {
    const auto run = static_cast<uint64_t>(number);
    tensortap_step_begin(session_, number, run);
    for (const auto& [op, values] : made) run_op(session_, op, number, values, run);
    tensortap_step_end(session_, number, run);
  }
  // A weight, seen when the model is loaded.
  void load(tensortap_op_id op, const std::vector<float>& values) {
    const FloatTensor tensor(values);
    tensortap_op_event event = event_of(op, 0, &tensor.c, 1);
    event.phase = TENSORTAP_PHASE_LOAD;
    tensortap_on_op(session_, &event);
  }

  nlohmann::json report() { return report_of(session_); }
  int close() { return tensortap_session_close(std::exchange(session_, nullptr)); }

 private:
  tensortap_session* session_ = nullptr;
  int status_ = 0;
  std::string message_;
  std::deque<std::string> names_;  // their texts stay where they are
};

}  // namespace toy

#endif  // TENSORTAP_TESTS_TOY_GRAPH_H_
