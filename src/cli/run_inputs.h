// The inputs of `tensortap run`: files named one by one, or a folder of test data.

#ifndef TENSORTAP_CLI_RUN_INPUTS_H_
#define TENSORTAP_CLI_RUN_INPUTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "read/tensor_file.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::cli {

// One input of one step, with the file that its data borrows from.
struct LoadedInput {
  std::string name;  // "" = by position
  uint32_t position = 0;
  int64_t step = -1;                 // -1 = every step
  std::shared_ptr<TensorFile> file;  // of one tensor
};

// `pairs` are NAME=FILE (npy, or an ONNX TensorProto); `folder`, when not empty, holds input_0.pb, input_1.pb, ... for every step, or
// test_data_set_0, test_data_set_1, ... with such files, one for each step. Errors: kInvalidArgument and kNotFound naming the file.
Result<std::vector<LoadedInput>> load_inputs(const std::vector<std::string>& pairs, const std::string& folder);

// How many steps have inputs of their own, at least 1.
int64_t steps_of(const std::vector<LoadedInput>& inputs);

// The same as the C interface takes them; they borrow from `inputs`.
std::vector<tensortap_onnxruntime_input> borrow_inputs(const std::vector<LoadedInput>& inputs);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_RUN_INPUTS_H_
