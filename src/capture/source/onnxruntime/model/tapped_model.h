// Puts a tap behind every node of a model: the editor of the capture. The technique and its reasons are in docs/onnxruntime.md.
//
// A tap is a node of our own operator set without outputs. Nothing is renamed, rewired or consumed: the model's own nodes stay byte for
// byte. Taps follow all nodes of their graph, in the opposite order of the nodes that they watch; ONNX Runtime then runs op, tap, op,
// tap.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_TAPPED_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_TAPPED_MODEL_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/model/blocked_graph.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

inline constexpr const char* kTapDomain = "tensortap";
inline constexpr const char* kSideTap = "Tap";
inline constexpr const char* kAliasTap = "AliasTap";
// The prefix of all names that taps add to a model. No exporter uses it; a model that does is refused.
inline constexpr std::string_view kTapPrefix = "tensortap/";

enum class TapKind : uint8_t {
  kOutputs,   // the tensors that the node made
  kSequence,  // elements of one sequence; the tap runs once per element, whose number is its second input
  kOptional,  // the tensor in an optional, when there is one
};

struct TapSlot {
  uint32_t output = 0;       // number among the node's outputs
  int32_t element_type = 0;  // ONNX's number of the type before a Cast that the tap needed; 0 = no Cast
  int64_t channels = -1;     // of an image in blocks: how many are the author's (blocked_graph.h)
  bool shown_again = false;  // by the taps of all nodes that read it
};

// A value that a node read. These follow the values that it made.
struct TapRead {
  uint32_t input = 0;     // number among the node's inputs
  int64_t channels = -1;  // as in TapSlot
};

struct Tap {
  uint32_t node = 0;  // Node::index; of a graph_input the number in Graph::inputs
  TapKind kind = TapKind::kOutputs;
  uint8_t depth = 0;      // of the graph that holds the node: 0 = the main graph
  bool has_body = false;  // the node holds nested graphs, whose taps fire before this one
  bool graph_input = false;
  std::vector<TapSlot> slots;
  std::vector<TapRead> reads;
  // The node runs once in a run, makes no values, and every reader of its outputs shows them: once it is counted, nothing more is to be
  // reported.
  bool no_news = false;
};

// Types that ONNX Runtime refuses as inputs of custom operators: value name -> remedy.
struct TypeRemedy {
  int32_t element_type = 0;  // of the value
  int32_t cast_to = 0;       // what to cast it to before the tap; 0 = leave the value out
};
using TypeRemedies = std::map<std::string, TypeRemedy, std::less<>>;

// Reads the error of a load of a tapped model. True when it names a type that a tap cannot take and a new remedy was added: edit and load
// again.
bool learn_remedy(std::string_view load_error, TypeRemedies& remedies);

struct UntappedValue {
  uint32_t node = 0;
  std::string reason;  // a short class, such as "map output"
};

enum class TapStyle : uint8_t {
  kSide,  // taps without outputs, order by the listing trick
  // Taps that pass their tensor through without a copy, ordered by data flow. Outputs of the graph and nodes with several outputs get side
  // taps.
  kAlias,
};

struct TappedModel {
  std::string bytes;
  std::vector<Tap> taps;  // indexed by the tap's attribute "id"
  std::vector<UntappedValue> untapped;
  std::set<std::string, std::less<>> shown_inputs;  // of the graph, by all nodes that read them
};

struct TapOptions {
  TapStyle style = TapStyle::kSide;
  bool inputs = false;  // also watch the tensors that a run is given: these taps fire first
  // The attribute "graph" of every tap, for operators that serve the taps of several models (tap_operator.h); 0 = no such attribute.
  int64_t graph = 0;
  // Side taps also get the tensors that their node read, except for weights: the runtime then keeps these until the tap has fired.
  bool reads = false;
  const BlockedGraph* blocks = nullptr;  // of the model; null = it has none
};

// Errors: kCorrupt, kInvalidArgument (the model uses our names).
Result<TappedModel> add_taps(const Model& model, const TypeRemedies& remedies, const TapOptions& options);

// The model with every tensor of its main graph as an output: for capture without taps, and as the reference of tests. `names` receives the
// added outputs in order.
Result<std::string> add_all_outputs(const Model& model, std::vector<std::string>& names);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_TAPPED_MODEL_H_
