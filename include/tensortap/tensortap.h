// The C++ face of capture.h: a session that closes itself, ops described by std::string, one call for each execution. Header only; it needs
// libtensortap_capture and nothing else. examples/engine shows the same in C.
//
//   tensortap::Session session;
//   if (std::string problem = session.open(R"({"payload": "full", "out": "dump"})", "my engine 1.0"); !problem.empty()) { ... }
//   const tensortap::Op relu = session.add_op({.name = "relu_1", .type = "Relu", .outputs = {"y"}});
//   session.bind();
//   for (int64_t step = 0; step < 3; ++step) {
//     const tensortap::Step scope(session, step);
//     ...
//     session.on_op(relu, step, {tensortap::output(TENSORTAP_FLOAT32, y.data(), dims)});
//   }

#ifndef TENSORTAP_TENSORTAP_H_
#define TENSORTAP_TENSORTAP_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tensortap {

using Op = tensortap_op_id;

// What add_op() needs to know. Only name and type are required.
struct OpDescription {
  std::string name;
  std::string type;
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::string module{};
  std::string source_location{};
  std::string attributes{};  // JSON object text
};

// A tensor of an execution; borrows `data` and `dims`. Contiguous, last dimension fastest.
inline tensortap_tensor output(tensortap_dtype dtype, const void* data, std::span<const int64_t> dims, uint32_t index = 0) {
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype;
  tensor.data = data;
  tensor.dims = dims.data();
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.slot_index = index;
  tensor.element = -1;
  return tensor;
}

inline tensortap_tensor input(tensortap_dtype dtype, const void* data, std::span<const int64_t> dims, uint32_t index = 0) {
  tensortap_tensor tensor = output(dtype, data, dims, index);
  tensor.slot_kind = TENSORTAP_SLOT_INPUT;
  return tensor;
}

// Owns a capture session. Move-only. A session that is not open accepts every call and does nothing, so that a program runs on when
// capture cannot. Thread-safe as capture.h says: open, close and destruction are for one thread.
class Session {
 public:
  Session() = default;

  // `config` as in docs/capture_config.md, "" = statistics of everything. Returns "", or what is wrong and how to fix it.
  std::string open(const std::string& config, const std::string& source, const std::string& program = "") {
    close();
    tensortap_session_options options{};
    options.size = sizeof(options);
    options.version = TENSORTAP_CAPTURE_VERSION;
    options.config = config.c_str();
    options.source = source.c_str();
    options.program = program.c_str();
    std::string message(kMessageSize, '\0');
    tensortap_session* opened = nullptr;
    const int status = tensortap_session_open(&options, &opened, message.data(), message.size());
    session_.reset(opened);
    return status == TENSORTAP_OK ? std::string() : std::string(message.c_str());
  }

  // Writes what is left and ends the session. Returns the first error of the session, TENSORTAP_OK when there was none.
  int close() { return tensortap_session_close(session_.release()); }

  [[nodiscard]] bool is_open() const { return session_ != nullptr; }
  [[nodiscard]] tensortap_session* get() const { return session_.get(); }

  // TENSORTAP_NO_OP when the session is not open; executions of that op are ignored.
  Op add_op(const OpDescription& description) {
    const std::vector<const char*> inputs = pointers(description.inputs);
    const std::vector<const char*> outputs = pointers(description.outputs);
    tensortap_op op{};
    op.size = sizeof(op);
    op.name = description.name.c_str();
    op.type = description.type.c_str();
    op.module = description.module.c_str();
    op.source_location = description.source_location.c_str();
    op.attributes = description.attributes.c_str();
    op.inputs = inputs.data();
    op.input_count = inputs.size();
    op.outputs = outputs.data();
    op.output_count = outputs.size();
    op.parent = TENSORTAP_NO_OP;
    return tensortap_register_op(session_.get(), &op);
  }

  // Ends the registration of a graph. Returns "", or which names of the config match nothing.
  std::string bind() {
    std::string message(kMessageSize, '\0');
    const int status = tensortap_bind(session_.get(), message.data(), message.size());
    return status == TENSORTAP_OK ? std::string() : std::string(message.c_str());
  }

  // Whether on_op() would keep anything; costs next to nothing.
  [[nodiscard]] bool wants(Op op, int64_t step) const { return tensortap_wants(session_.get(), op, step) != 0; }

  // Reports one execution. The tensors are looked at before it returns.
  void on_op(Op op, int64_t step, std::span<const tensortap_tensor> tensors) {
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = op;
    event.step = step;
    event.duration_ns = -1;
    event.tensors = tensors.data();
    event.tensor_count = tensors.size();
    tensortap_on_op(session_.get(), &event);
  }
  void on_op(Op op, int64_t step, std::initializer_list<tensortap_tensor> tensors) {
    on_op(op, step, std::span(tensors.begin(), tensors.size()));
  }

  // The report so far as JSON text (docs/layouts/tap.md, run.json); "" when the session is not open.
  [[nodiscard]] std::string report() const {
    if (session_ == nullptr) return {};
    const std::unique_ptr<char, void (*)(void*)> text(tensortap_session_report(session_.get()),
                                                      [](void* report) { tensortap_free(report); });
    return text == nullptr ? std::string() : std::string(text.get());
  }

 private:
  static constexpr size_t kMessageSize = 4096;
  struct Closer {
    void operator()(tensortap_session* session) const { tensortap_session_close(session); }
  };

  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> list;
    list.reserve(texts.size());
    for (const std::string& text : texts) list.push_back(text.c_str());
    return list;
  }

  std::unique_ptr<tensortap_session, Closer> session_;
};

// A step, from construction to destruction.
class Step {
 public:
  Step(const Session& session, int64_t step, uint64_t run = 0)
      : session_(session.get()), step_(step), run_(run), captured_(tensortap_step_begin(session_, step, run) != 0) {}
  ~Step() { tensortap_step_end(session_, step_, run_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  // Whether anything of this step is captured.
  [[nodiscard]] bool captured() const { return captured_; }

 private:
  tensortap_session* session_;
  int64_t step_;
  uint64_t run_;
  bool captured_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TENSORTAP_H_
