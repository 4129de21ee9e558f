// What ONNX Runtime does to single nodes when it rewrites a graph, as far as names and inputs alone do not show it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_FUSION_RULES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_FUSION_RULES_H_

#include <optional>
#include <string_view>

#include "source/onnxruntime/model/graph_view.h"

namespace tensortap::onnxruntime {

inline constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";

// The runtime makes names unique by "_token_<number>": without that.
std::string_view without_token(std::string_view name);

// The name of the value that an inserted Cast or a folded constant represents: without the runtime's prefixes.
std::string_view without_conversion(std::string_view name);

// The node of the earlier graph that a later node still is at heart, which reads the same data at the same place, although its layout, its
// precision or what follows it has changed; null where that is not certain.
const Node* core_of(const Node& later, const GraphView& earlier);

// Of which inputs that holds: of all, or of the first.
bool all_inputs_stay(const Node& later, const Node& core);

// The value of the earlier graph that a later node makes, where the kind of fusion says it: convolutions and pools with blocked channels,
// and what a sum or an activation added to them; MatMul and Add as one Gemm.
std::optional<std::string_view> fused_result(const Node& later, const GraphView& earlier);

// Whether a node gives its input's elements on as they are, some of them: it does the same on quantised data.
bool works_on_any_type(const Node& node);

// Whether the attributes say the same. Those of other opset versions' defaults do not count.
bool same_attributes(const Node& later, const Node& earlier);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_FUSION_RULES_H_
