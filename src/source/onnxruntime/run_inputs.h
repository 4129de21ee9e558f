// The inputs of a run: given by the caller, checked against the model, the rest made from a seed.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "source/onnxruntime/inference_session.h"
#include "source/onnxruntime/onnx_model.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// "float32 [N, 3, 224, 224]".
std::string type_text(const ValueInfo& info);

// Values for an input that was not given: the generator of docs/onnxruntime.md, "Inputs that were not given". The same seed, name and
// shape give the same bits everywhere.
Result<OwnedValue> make_input(const Api& api, const ValueInfo& info, const std::vector<int64_t>& dims, uint64_t seed);

// Inputs of all steps. Immutable once made, except carried values.
class RunInputs {
 public:
  struct Options {
    const std::vector<ValueInfo>* model_inputs = nullptr;
    const tensortap_onnxruntime_input* given = nullptr;
    uint64_t given_count = 0;
    std::map<std::string, int64_t> dims;
    uint64_t seed = 0;
  };

  // Errors: kInvalidArgument for inputs of a wrong name, shape or dtype, with the expected one, and for unknown dimension names.
  static Result<RunInputs> create(const Api& api, const Options& options);

  // The values of one step. Borrowed from this object.
  [[nodiscard]] std::vector<NamedValue> of_step(int64_t step) const;
  // Replaces an input from now on: a state that is carried from step to step. Inputs given for the step itself win.
  void carry(const std::string& name, OwnedValue value) { carried_[name] = std::move(value); }
  // [{"name", "dtype", "shape", "made": "seed 0"}] of the inputs that were made.
  [[nodiscard]] const Json& made() const { return made_; }

 private:
  Status add_given(const Api& api, const Options& options, const tensortap_onnxruntime_input& input);
  Status make_missing(const Api& api, const Options& options, const ValueInfo& info);

  std::vector<std::string> names_;
  std::map<std::string, OwnedValue> every_step_;
  std::map<std::pair<int64_t, std::string>, OwnedValue> of_one_step_;
  std::map<std::string, OwnedValue> carried_;
  Json made_ = Json::array();
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUTS_H_
