// A toy runtime whose ops write into one arena, as a planned memory has it, one of them beyond its own end: for tests of watching.

#ifndef TENSORTAP_TESTS_WATCHED_ARENA_H_
#define TENSORTAP_TESTS_WATCHED_ARENA_H_

#include <tensortap/capture.h>

#include <array>
#include <string>
#include <vector>

namespace watched_arena {

inline constexpr size_t kElements = 64;  // of each output

// Ops "C", "D", "A", "B" and "E" run in this order; E reads C and D. Where `stomps` B writes three elements beyond its output, into C's.
class Arena {
 public:
  Arena(tensortap_session* session, bool stomps) : session_(session), stomps_(stomps), memory_(5 * kElements) {
    for (const char* name : {"C", "D", "A", "B"}) ops_.push_back(add_op(name, {}));
    ops_.push_back(add_op("E", {ops_[0], ops_[1]}));
  }
  // Where each op's output begins: B's is in front of C's.
  static constexpr std::array<size_t, 5> kPlaces = {1 * kElements, 2 * kElements, 3 * kElements, 0, 4 * kElements};

  void step(int64_t number) {
    tensortap_step_begin(session_, number, 0);
    for (size_t op = 0; op < ops_.size(); ++op) {
      for (size_t i = 0; i < kElements; ++i) memory_[kPlaces[op] + i] = value(op, i, number);
      if (op == 3 && stomps_) {
        for (size_t i = 0; i < 3; ++i) memory_[kPlaces[0] + i] = -1.0F - static_cast<float>(i);
      }
      report(op, number);
    }
    tensortap_step_end(session_, number, 0);
  }
  static float value(size_t op, size_t i, int64_t step) { return static_cast<float>(op * 1000 + i) + static_cast<float>(step) / 2; }

 private:
  tensortap_op_id add_op(const char* name, const std::vector<tensortap_op_id>& producers) {
    const std::string made = std::string(name) + "_out";
    const char* output = made.c_str();
    const std::vector<const char*> inputs(producers.size(), "value");
    tensortap_op op{};
    op.size = sizeof(op);
    op.name = name;
    op.type = name[0] == 'C' ? "Conv" : "Toy";
    op.parent = TENSORTAP_NO_OP;
    op.outputs = &output;
    op.output_count = 1;
    op.inputs = inputs.data();
    op.producers = producers.data();
    op.input_count = producers.size();
    return tensortap_register_op(session_, &op);
  }
  void report(size_t op, int64_t step) {
    const std::array<int64_t, 2> dims = {8, kElements / 8};
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = memory_.data() + kPlaces[op];
    tensor.dims = dims.data();
    tensor.rank = 2;
    tensor.element = -1;
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = ops_[op];
    event.step = step;
    event.duration_ns = -1;
    event.tensors = &tensor;
    event.tensor_count = 1;
    tensortap_on_op(session_, &event);
  }

  tensortap_session* session_;
  bool stomps_;
  std::vector<float> memory_;
  std::vector<tensortap_op_id> ops_;
};

}  // namespace watched_arena

#endif  // TENSORTAP_TESTS_WATCHED_ARENA_H_
