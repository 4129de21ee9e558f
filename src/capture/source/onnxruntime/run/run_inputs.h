// The inputs of a run: given by the caller, checked against the model, the rest made from a seed.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_INPUTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_INPUTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "source/onnxruntime/model/index_uses.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/model/symbol_sizes.h"
#include "source/onnxruntime/run/input_maker.h"
#include "source/onnxruntime/runtime/inference_session.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// What the caller says about the inputs. Borrows.
struct InputOptions {
  const std::vector<ValueInfo>* model_inputs = nullptr;
  const tensortap_onnxruntime_input* given = nullptr;
  uint64_t given_count = 0;
  std::map<std::string, int64_t> dims;
  uint64_t seed = 0;
  std::optional<NumberRange> range;           // of all inputs that are made
  std::map<std::string, NumberRange> ranges;  // of single ones
  IndexUses uses;
  std::string all_from;           // an origin that must hold all inputs, "" = those that are missing are made
  std::optional<uint64_t> noise;  // numbers are moved by their last bit, at random from this seed
  NarrowReads narrow;             // whose last bit that is, where the model converts an input first
};

// Inputs of all steps. Immutable once made, except carried values.
class RunInputs {
 public:
  RunInputs();
  // Errors: kInvalidArgument for inputs of a wrong name, shape or type, with the expected one, for unknown names of dimensions and ranges,
  // and for ranges that an input does not take.
  static Result<RunInputs> create(const std::shared_ptr<const RuntimeLibrary>& library, const InputOptions& options);

  // The values of one step, without optionals that have none. Borrowed from this object.
  [[nodiscard]] std::vector<NamedValue> of_step(int64_t step) const;
  // Replaces an input from `step` on: a state that is carried from step to step. Inputs given for a step itself win. Errors: those of the
  // runtime, where the value has to be moved.
  Status carry(const Api& api, const std::string& name, int64_t step, OwnedValue value);
  // How each input came to be, in the order of the model: [{"name", "kind", "dtype", "shape", "made", "how", "seed"}], and
  // "noise_seed" where they were moved; docs/command_line.md.
  [[nodiscard]] const Json& description() const { return *description_; }
  [[nodiscard]] bool any_made() const { return any_made_; }

 private:
  // The parts of a value, and where the last of them came from.
  struct Given {
    const ValueInfo* info = nullptr;
    std::vector<tensortap_onnxruntime_input> parts;
  };
  using GivenByStep = std::map<std::pair<int64_t, std::string>, Given>;

  static Result<GivenByStep> collect(const InputOptions& options);
  Status move_all(const Api& api);
  [[nodiscard]] Result<OwnedValue> moved(const Api& api, OwnedValue value, const std::string& name, int64_t step) const;
  [[nodiscard]] uint64_t noise_of(const std::string& name, int64_t step) const;
  Status make_missing(const Api& api, const InputOptions& options, const SymbolSizes& symbols, const ValueInfo& info);
  [[nodiscard]] const abi::Value* value_of(const std::string& name, int64_t step) const;
  void describe_given(const ValueInfo& info, const GivenByStep& given);

  std::vector<std::string> names_;
  std::map<std::string, OwnedValue> every_step_;
  std::map<std::pair<int64_t, std::string>, OwnedValue> of_one_step_;
  std::map<std::string, OwnedValue> carried_;
  std::shared_ptr<Json> description_;  // elsewhere, so that this header needs no definition of Json
  bool any_made_ = false;
  std::optional<uint64_t> noise_;
  NarrowReads narrow_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_INPUTS_H_
