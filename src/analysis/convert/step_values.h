// The tensors of a dump by step, each under a unique name, for files that hold the tensors of one step.

#ifndef TENSORTAP_CONVERT_STEP_VALUES_H_
#define TENSORTAP_CONVERT_STEP_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

struct StepValue {
  size_t row = 0;
  std::string name;  // unique in its step
};

struct StepValues {
  std::string name;  // of files: "step_3", "rank_1/step_3"; "weights" for records from when the model was loaded
  bool loaded = false;
  int64_t step = 0;
  std::vector<StepValue> values;
};

// The records that have values, in the order of the steps, loaded ones first. An output has the name of its value ("conv1.weight"), if the
// op has one; other records are "OP:in0". Further calls in a step are "NAME#1", elements of lists "NAME[0]".
std::vector<StepValues> values_by_step(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_STEP_VALUES_H_
