// Which of the values that a node reads its tap can show when the node has run, and which values are shown so by everybody who reads them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SHOWN_VALUES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SHOWN_VALUES_H_

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "source/onnxruntime/model/tapped_model.h"

namespace tensortap::onnxruntime {

// Immutable. Borrows the model's bytes and the remedies.
class ShownReads {
 public:
  // Nothing is shown.
  ShownReads() = default;
  ShownReads(const Model& model, const TypeRemedies& remedies);

  // Numbers of the inputs that the tap of a node gets, each value once.
  [[nodiscard]] std::vector<uint32_t> of(const Node& node) const;
  // Whether every node that reads the value has it from its tap. A name that several values in nested graphs have counts as one.
  [[nodiscard]] bool always(std::string_view value) const { return remedies_ != nullptr && !kept_.contains(value); }

 private:
  void collect(const Graph& graph);
  void find_kept(const Graph& graph);
  [[nodiscard]] bool shows(const Node& node, size_t input) const;
  [[nodiscard]] bool has_tap(const Node& node) const;

  const TypeRemedies* remedies_ = nullptr;
  std::unordered_set<std::string_view> weights_;
  std::unordered_set<std::string_view> kept_;  // some reader does not show them
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SHOWN_VALUES_H_
