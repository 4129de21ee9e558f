// A dump in memory for the tests of this folder.

#ifndef TENSORTAP_QUERY_QUERY_DUMP_H_
#define TENSORTAP_QUERY_QUERY_DUMP_H_

#include <limits>
#include <string>

#include "trace/vector_dump_index.h"

namespace tensortap {

// Of one op: an input and an output in each of three steps, and an element of a list without statistics. Of another op: one output.
//
//   row  0    1     2    3     4    5     6          7
//        c:in0 c:out0 c:in0 c:out0 c:in0 c:out0 c:out0[2]  g:out0
//   step 0    0     1    1     2    2     2          2
//   max  1    10    2    NaN   3    30    -          20
struct QueryDump : VectorDumpIndex {
  QueryDump() {
    add_op(op("block.conv", "Conv"));
    add_op(op("gemm", "Gemm"));
    all_ops[0].source_location = "train.py:41";
    for (int64_t step = 0; step < 3; ++step) {
      add(record(0, step, SlotKind::kInput, static_cast<double>(step + 1)));
      add(record(0, step, SlotKind::kOutput, step == 1 ? std::numeric_limits<double>::quiet_NaN() : 10.0 * static_cast<double>(step + 1)));
    }
    RecordRow element = record(0, 2, SlotKind::kOutput, 0);
    element.element = 2;
    element.stats = {};
    add(element);
    add(record(1, 2, SlotKind::kOutput, 20));
  }

  static OpInfo op(std::string name, std::string type) {
    OpInfo info;
    info.name = std::move(name);
    info.type = std::move(type);
    return info;
  }
  static RecordRow record(OpId id, int64_t step, SlotKind kind, double max) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.set_desc({DType::kFloat32, {1, 2}});
    row.stats.max = max;
    row.stats.min = -1.5;
    row.stats.count = 2;
    row.stats.valid = kStatMin | kStatMax;
    return row;
  }
};

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_QUERY_DUMP_H_
