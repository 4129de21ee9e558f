// Dumps made in memory for the tests of this folder.

#ifndef TENSORTAP_COMPARE_MADE_DUMP_H_
#define TENSORTAP_COMPARE_MADE_DUMP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/value_judge.h"
#include "stats/stats.h"
#include "trace/vector_dump_index.h"

namespace tensortap {

struct MadeDump : VectorDumpIndex {
  // An op with one output, which is called as the op; it reads what the ops of these numbers made.
  OpId op(const std::string& name, const std::string& type, const std::vector<OpId>& inputs = {}) {
    OpInfo info;
    info.name = name;
    info.type = type;
    info.outputs = {name};
    for (const OpId input : inputs) info.inputs.push_back({all_ops[input].outputs[0], input, 0});
    return add_op(std::move(info));
  }
  OpInfo& at(OpId id) { return all_ops[id]; }

  struct Execution {
    int64_t step = 0;
    uint32_t call = 0;
    bool with_data = true;
  };
  // What an execution of an op gave out.
  size_t gives(OpId id, const std::vector<float>& values, Shape shape, const Execution& execution) {
    RecordRow row;
    row.op = id;
    row.step = execution.step;
    row.call = execution.call;
    row.set_desc({DType::kFloat32, shape});
    const TensorView view{row.desc(), values.data(), nullptr};
    row.stats = compute_stats(view, {});
    const size_t number = add(row);
    if (execution.with_data) set_data(number, values);
    return number;
  }
  // What it read, of a tree of files: nothing says who made it.
  void reads(OpId id, uint16_t slot, const std::vector<float>& values) {
    const size_t number = gives(id, values);
    all_rows[number].slot_kind = static_cast<uint8_t>(SlotKind::kInput);
    all_rows[number].slot_index = slot;
  }
  size_t gives(OpId id, const std::vector<float>& values, Shape shape) { return gives(id, values, shape, {}); }
  size_t gives(OpId id, const std::vector<float>& values) { return gives(id, values, Shape({static_cast<int64_t>(values.size())}), {}); }
};

// Numbers that no other seed gives, from 1 to 2.
inline std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = 1 + static_cast<float>(state >> 8U) / static_cast<float>(1U << 24U);
  }
  return values;
}

inline std::vector<float> scaled(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_MADE_DUMP_H_
