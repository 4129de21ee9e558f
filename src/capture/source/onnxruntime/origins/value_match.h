// Which values of a graph are values of an earlier state of it: of the graph that the author wrote, or of the one that a lower level of
// optimisation leaves.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_VALUE_MATCH_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_VALUE_MATCH_H_

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/onnxruntime/model/graph_view.h"
#include "source/onnxruntime/model/name_scope.h"

namespace tensortap::onnxruntime {

// A value of the earlier graph. "" = not known. Where only the elements are the same, some layout or floating type may differ.
struct ValueMatch {
  std::string_view value;
  bool elements_only = false;
};

// Matches the values of one graph with those of an earlier one. Contains certain matches only.
class GraphMatch {
 public:
  GraphMatch(const GraphView& later, const GraphView& earlier, const GraphMatch* outer)
      : later_(later), earlier_(earlier), outer_(outer), matches_(outer == nullptr ? nullptr : &outer->matches_) {}

  [[nodiscard]] const GraphView& later() const { return later_; }
  [[nodiscard]] const GraphView& earlier() const { return earlier_; }
  [[nodiscard]] ValueMatch find(std::string_view value) const { return matches_.find(value, {}); }
  // GraphView::elements_of() the matched value; "" = not known.
  [[nodiscard]] std::string_view elements(std::string_view value) const;
  void set(std::string_view value, ValueMatch match) { matches_.set(value, match); }
  void clear() { matches_.clear(); }
  [[nodiscard]] bool is_outermost() const { return outer_ == nullptr; }

 private:
  const GraphView& later_;
  const GraphView& earlier_;
  const GraphMatch* outer_;
  NameScope<ValueMatch> matches_;
};

// The nodes of the earlier graph between the inputs of a later node and a value that it may make. Nothing when the node cannot make the
// value: the value needs something that the node does not read, or the node reads something that the value does not need.
std::optional<std::vector<const Node*>> nodes_between(const GraphMatch& match, const Node& later, std::string_view value);

// Matches all graphs of a model with those of an earlier one. Borrows both views; a joined match borrows the two that it joins.
class ModelMatch {
 public:
  ModelMatch(const Model& later, const ModelViews& later_views, const Model& earlier, const ModelViews& earlier_views);
  // A match with the middle model, and the middle model's with an earlier one, as one.
  ModelMatch(const ModelMatch& with_middle, const ModelMatch& of_middle);

  // Null for a nested graph whose original is not known.
  [[nodiscard]] const GraphMatch* of(const Graph& later) const;

 private:
  void match(const Graph& later, const Graph& earlier, const GraphMatch* outer);
  void join(const GraphMatch& with_middle, const ModelMatch& of_middle, const ModelMatch& all_with_middle, const GraphMatch* outer);
  GraphMatch& add(const GraphView& later, const GraphView& earlier, const GraphMatch* outer);

  const ModelViews& later_views_;
  const ModelViews& earlier_views_;
  std::unordered_map<const Graph*, std::unique_ptr<GraphMatch>> matches_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_VALUE_MATCH_H_
