// What the runtime makes of a model at lower levels of optimisation: the states between the author's graph and the one that runs.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_LOWER_LEVELS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_LOWER_LEVELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// Gives the graph that the runtime makes of the model at a level, as ONNX.
using OptimiseTo = std::function<Result<std::string>(int32_t level)>;

// Loads each level when it is first asked for, and keeps it.
class LowerLevels {
 public:
  // `level` of the graph that runs; below zero: not known.
  LowerLevels(int32_t level, OptimiseTo optimise) : level_(level), optimise_(std::move(optimise)) {}

  // The structure of the graph; lives as long as this object. Null when the graph that runs is of no higher level, or the runtime does not
  // make it.
  const Model* at(int32_t level);

 private:
  // The model is a view into the bytes.
  struct State {
    std::string bytes;
    Model model;
  };
  [[nodiscard]] Result<std::unique_ptr<State>> load(int32_t level) const;

  int32_t level_;
  OptimiseTo optimise_;
  std::map<int32_t, std::unique_ptr<State>> states_;  // null = the runtime did not make it
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_LOWER_LEVELS_H_
