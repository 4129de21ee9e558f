#include "source/onnxruntime/taps/plain_twin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "base/fnv.h"
#include "base/text.h"
#include "source/onnxruntime/taps/external_files.h"

namespace tensortap::onnxruntime {
namespace {

// Operators of these domains keep no state, except for those below. Other domains are unknown.
constexpr std::array<std::string_view, 8> kOwnDomains = {"",
                                                         "ai.onnx",
                                                         "ai.onnx.ml",
                                                         "ai.onnx.training",
                                                         "ai.onnx.preview.training",
                                                         "com.microsoft",
                                                         "com.microsoft.nchwc",
                                                         "com.ms.internal.nhwc"};
// Each kernel continues its random numbers where its last run ended.
constexpr std::array<std::string_view, 11> kDrawing = {"RandomNormal",       "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                                       "Multinomial",        "Bernoulli",        "Dropout",       "BiasDropout",
                                                       "BitmaskBiasDropout", "BitmaskDropout",   "Sampling"};
constexpr int kLeadingBits = 3;

uint64_t coarse(int64_t dimension) {
  const auto size = static_cast<uint64_t>(std::max<int64_t>(dimension, 0));
  const int dropped = std::max(static_cast<int>(std::bit_width(size)) - kLeadingBits, 0);
  return size >> dropped << dropped;
}

}  // namespace

std::string state_between_runs(const Graph& executed) {
  for (const Node& node : executed.nodes) {
    const bool known = std::ranges::find(kOwnDomains, node.domain) != kOwnDomains.end();
    if (!known) return concat("the state of the custom operator ", node.type, " is unknown");
    if (std::ranges::find(kDrawing, node.type) != kDrawing.end()) return concat(node.type, " draws random numbers");
    for (const Subgraph& body : node.subgraphs) {
      if (std::string state = state_between_runs(*body.graph); !state.empty()) return state;
    }
  }
  return {};
}

uint64_t kind_of_inputs(const Api& api, const abi::Value* const* values, size_t count) {
  static thread_local TensorScratch scratch;
  uint64_t hash = kFirstHash;
  const auto add = [&hash](uint64_t part) { hash = hash_more(hash, part); };
  for (size_t i = 0; i < count; ++i) {
    int32_t type = 0;
    std::span<const int64_t> dims;
    if (values[i] == nullptr || !view_shape(api, values[i], scratch, type, dims).ok()) dims = {};
    add(static_cast<uint64_t>(type));
    add(dims.size());
    for (const int64_t dimension : dims) add(coarse(dimension));
  }
  return std::max<uint64_t>(hash, 1);
}

void TwinAccount::set_reason(std::string why_none) {
  const std::lock_guard lock(mutex_);
  why_none_ = std::move(why_none);
}

std::string TwinAccount::note() const {
  const uint64_t by_twin = by_twin_.load(std::memory_order_relaxed);
  const uint64_t with_taps = with_taps_.load(std::memory_order_relaxed);
  std::string note;
  if (by_twin > 0) note = concat("runs that are not captured: ", by_twin, " used a session without taps");
  if (with_taps == 0) return note;
  note += concat(note.empty() ? "runs that are not captured: " : ", ", with_taps, " the session with taps");
  const std::lock_guard lock(mutex_);
  return concat(note, " (", why_none_.empty() ? "with a binding, or in a thread of the runtime's" : why_none_, ")");
}

Result<std::unique_ptr<PlainTwin>> PlainTwin::open(const PreparedModel& model) {
  if (model.options().as_written) return unsupported("a graph as written would be optimised anew");
  if (const std::string state = state_between_runs(model.executed().graph); !state.empty()) return unsupported(state);
  std::unique_ptr<PlainTwin> twin(new PlainTwin(model));
  TENSORTAP_ASSIGN_OR_RETURN(twin->session_,
                             open_with_external_files(model, model.executed().bytes, settings_of_executed(model, ""), twin->scratch_));
  return twin;
}

}  // namespace tensortap::onnxruntime
