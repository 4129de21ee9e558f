// The graph that the runtime made of the author's, as it can be run again.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_GRAPH_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_GRAPH_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/model/pass_files.h"

namespace tensortap::onnxruntime {

// Reads what the runtime wrote. Old models also list their weights as inputs; where the runtime folded such a weight away, `bytes` loses
// the input, which has no value. The model is a view into `bytes`. Errors: kCorrupt.
Result<Model> read_executed_model(std::string& bytes, const Model& author);

// The structure of the author's graph. Of its weights, only names, types and shapes remain.
struct AuthorGraph {
  std::string bytes;
  Model model;  // a view into `bytes`
  bool has_weights_in_files = false;
  bool has_nested_graphs = false;

  // Where the large weights of the optimised graph go. Those that the author has in files stay there, and a session looks for files in one
  // folder only.
  [[nodiscard]] PassWeights weights_apart() const;
  // The same for a graph whose structure is all that counts.
  [[nodiscard]] PassWeights weights_dropped() const;
};

// Reads the author's ONNX into `graph`, which keeps nothing of `bytes` and must not move. `name` is for messages. Errors: kCorrupt.
Status read_author(std::string_view bytes, std::string_view name, AuthorGraph& graph);

// Gives memory that is free in this process back to the system: what a pass took and a plain session would not have.
void release_free_memory();

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_GRAPH_H_
