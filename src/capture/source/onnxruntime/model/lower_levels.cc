#include "source/onnxruntime/model/lower_levels.h"

#include "source/onnxruntime/model/model_editor.h"

namespace tensortap::onnxruntime {

const Model* LowerLevels::at(int32_t level) {
  if (level_ >= 0 && level_ <= level) return nullptr;
  const auto [entry, is_new] = states_.try_emplace(level);
  if (is_new) {
    auto state = load(level);
    if (state.ok()) entry->second = *std::move(state);
  }
  return entry->second == nullptr ? nullptr : &entry->second->model;
}

Result<std::unique_ptr<LowerLevels::State>> LowerLevels::load(int32_t level) const {
  auto state = std::make_unique<State>();
  {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string bytes, optimise_(level));
    TENSORTAP_ASSIGN_OR_RETURN(state->bytes, without_weights(bytes));
  }
  TENSORTAP_ASSIGN_OR_RETURN(state->model, read_model(state->bytes, "the optimised model"));
  return state;
}

}  // namespace tensortap::onnxruntime
