// The inputs of `tensortap run`: files named one by one, or a folder of test data.

#ifndef TENSORTAP_CLI_FILES_INPUT_FILES_H_
#define TENSORTAP_CLI_FILES_INPUT_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
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
  std::string origin;                // the file, for people
  std::shared_ptr<TensorFile> file;  // several tensors are the parts of one value, unless `member` selects one
  std::optional<size_t> member;
};

struct LoadedInputs {
  std::vector<LoadedInput> inputs;
  std::string all_from;  // the file that must hold all inputs, "" = none
  int64_t steps = 1;     // that have separate inputs
};

// `given` are NAME=FILE (an array of NumPy; a tensor, a sequence, an optional or a map of ONNX) or FILE, an npz of all inputs by their
// names; `folder`, when not empty, holds input_0.pb, input_1.pb, ... for every step, or test_data_set_0, test_data_set_1, ... with such
// files, one for each step. Errors: kInvalidArgument and kNotFound naming the file.
Result<LoadedInputs> load_inputs(const std::vector<std::string>& given, const std::string& folder);

// The same as the C interface takes them; they borrow from `inputs`.
std::vector<tensortap_onnxruntime_input> borrow_inputs(const LoadedInputs& inputs);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_INPUT_FILES_H_
