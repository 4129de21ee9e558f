// Writes a dump for tests/shared_content_test.py: shared_content_program FOLDER. A block of 6000 floats (value i at step s: i + s) is
// written in place once a step and read through views by three ops; the engine does not report one more write, after the last step.

#include <tensortap/capture.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kSteps = 3;
constexpr int64_t kRows = 60;
constexpr int64_t kColumns = 100;

struct View {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

class Engine {
 public:
  explicit Engine(tensortap_session* session) : session_(session) {
    for (const char* name : {"fill_", "flat", "turned", "part"}) {
      tensortap_op op{};
      op.size = sizeof(op);
      op.name = name;
      op.type = "Op";
      op.parent = TENSORTAP_NO_OP;
      ops_.push_back(tensortap_register_op(session, &op));
    }
  }
  void fill(int step, bool tells) {
    for (size_t i = 0; i < block_.size(); ++i) block_[i] = static_cast<float>(i) + static_cast<float>(step);
    if (tells) ++version_;
  }
  void event(size_t op, int step, bool reads, const View& view) {
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = block_.data() + view.offset;
    tensor.dims = view.dims.data();
    tensor.strides = view.strides.empty() ? nullptr : view.strides.data();
    tensor.rank = static_cast<uint32_t>(view.dims.size());
    tensor.slot_kind = reads ? TENSORTAP_SLOT_INPUT : TENSORTAP_SLOT_OUTPUT;
    tensor.element = -1;
    tensor.storage = 17;
    tensor.version = version_;
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = ops_[op];
    event.step = step;
    event.duration_ns = -1;
    event.tensors = &tensor;
    event.tensor_count = 1;
    event.flags = reads ? TENSORTAP_EVENT_READ_FIRST : 0U;
    tensortap_on_op(session_, &event);
  }
  void run(int step) {
    const View whole{{kRows, kColumns}, {}, 0};
    event(0, step, true, whole);
    fill(step, true);
    event(0, step, false, whole);
    const std::array<View, 3> views = {View{{kRows * kColumns}, {}, 0}, View{{kColumns, kRows}, {1, kColumns}, 0},
                                       View{{kColumns * 10}, {}, kColumns}};
    for (size_t op = 1; op < 4; ++op) {
      event(op, step, true, whole);
      event(op, step, false, views[op - 1]);
    }
  }

 private:
  tensortap_session* session_;
  std::vector<tensortap_op_id> ops_;
  std::vector<float> block_ = std::vector<float>(kRows * kColumns);
  uint64_t version_ = 1;
};

int write_dump(const char* folder) {
  const std::string config =
      std::string(R"({"payload": "full", "slots": ["in", "out"], "limits": {"keep_free": 0}, "out": ")") + folder + "\"}";
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  tensortap_session* session = nullptr;
  std::array<char, 1000> message{};
  if (tensortap_session_open(&options, &session, message.data(), message.size()) != TENSORTAP_OK) {
    std::fprintf(stderr, "%s\n", message.data());
    return 1;
  }
  Engine engine(session);
  for (int step = 0; step < kSteps; ++step) engine.run(step);
  // An unreported write is found after 64 uses at the latest.
  engine.fill(100, false);
  for (int i = 0; i < 64; ++i) engine.event(1, kSteps, false, {{kRows * kColumns}, {}, 0});
  return tensortap_session_close(session);
}

}  // namespace

int main(int count, char** arguments) { return count < 2 ? 2 : write_dump(arguments[1]); }
