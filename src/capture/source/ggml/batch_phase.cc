#include "source/ggml/batch_phase.h"

#include <tensortap/capture.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "source/ggml/node_names.h"

namespace tensortap::ggml {
namespace {

constexpr size_t kMostTokens = 1 << 16;

// A leaf that the program filled before it had the graph computed. One that the scheduler copies to another backend is filled later.
bool is_filled(GgmlTensor leaf) { return leaf.op() == 0 && without_copy(leaf.name()) == leaf.name(); }

// The cells of the tokens in one stream of the cache.
std::vector<int64_t> cells_of(TensorValues& values, GgmlTensor writes_keys) {
  const GgmlTensor places = writes_keys.source(1).base();
  const int64_t cells = writes_keys.base().ne()[1];
  ValueScratch scratch;
  tensortap_tensor described{};
  if (values.describe(places, 1, scratch, described) != nullptr || described.dtype != TENSORTAP_INT64 || described.rank != 1) return {};
  std::vector<int64_t> found(static_cast<size_t>(places.ne()[0]));
  if (cells <= 0 || found.size() > kMostTokens || places.nb()[0] != sizeof(int64_t)) return {};
  std::memcpy(found.data(), described.data, found.size() * sizeof(int64_t));
  for (int64_t& cell : found) {
    if (cell < 0) return {};
    cell %= cells;
  }
  return found;
}

// Which cells the tokens of a batch see.
class Mask {
 public:
  // Nothing when it is not of a known kind.
  static std::optional<Mask> of(TensorValues& values, GgmlTensor tensor, ValueScratch& scratch) {
    tensortap_tensor described{};
    if (values.describe(tensor, 1, scratch, described) != nullptr || described.data == nullptr || tensor.ne()[2] != 1) return std::nullopt;
    if (described.dtype != TENSORTAP_FLOAT16 && described.dtype != TENSORTAP_FLOAT32) return std::nullopt;
    const size_t element = described.dtype == TENSORTAP_FLOAT16 ? sizeof(uint16_t) : sizeof(float);
    if (tensor.nb()[0] != static_cast<int64_t>(element)) return std::nullopt;
    return Mask(tensor, static_cast<const std::byte*>(described.data), element == sizeof(uint16_t));
  }

  [[nodiscard]] int64_t cells() const { return ne_[0]; }
  [[nodiscard]] int64_t tokens() const { return ne_[1]; }  // of a stream
  [[nodiscard]] int64_t streams() const { return ne_[3]; }
  [[nodiscard]] bool sees(int64_t stream, int64_t token, int64_t cell) const {
    if (cell >= cells()) return false;
    const std::byte* at = data_ + stream * nb_[3] + token * nb_[1] + cell * nb_[0];
    float value = 0;
    if (is_half_) {
      uint16_t bits = 0;
      std::memcpy(&bits, at, sizeof(bits));
      value = bits == kHalfMinusInfinity ? -INFINITY : 0;
    } else {
      std::memcpy(&value, at, sizeof(value));
    }
    return value > -INFINITY;
  }
  // Whether the token sees more cells than its own.
  [[nodiscard]] bool sees_several(int64_t stream, int64_t token) const {
    int seen = 0;
    for (int64_t cell = 0; cell < cells() && seen < 2; ++cell) seen += sees(stream, token, cell) ? 1 : 0;
    return seen > 1;
  }

 private:
  static constexpr uint16_t kHalfMinusInfinity = 0xfc00;

  Mask(GgmlTensor tensor, const std::byte* data, bool is_half) : ne_(tensor.ne()), nb_(tensor.nb()), data_(data), is_half_(is_half) {}

  std::array<int64_t, kMostDimensions> ne_;
  std::array<int64_t, kMostDimensions> nb_;
  const std::byte* data_;
  bool is_half_;
};

// For each token of a batch of one stream, whether another one is of its sequence. Tokens of a sequence mostly follow each other, so that
// the first look is enough.
std::vector<bool> with_company(const Mask& mask, const std::vector<int64_t>& cells) {
  std::vector<bool> found(cells.size());
  for (size_t token = 1; token < cells.size(); ++token) {
    for (size_t before = token; before-- > 0;) {
      if (!mask.sees(0, static_cast<int64_t>(token), cells[before])) continue;
      found[token] = found[before] = true;
      break;
    }
  }
  return found;
}

}  // namespace

BatchPlaces batch_places_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes) {
  const GgmlFunctions& ggml = library.functions();
  BatchPlaces places;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const GgmlTensor node = nodes[i];
    if (places.writes_keys == 0) {
      const bool writes =
          std::string_view(ggml.op_name(node.op())) == "SET_ROWS" && std::string_view(node.base().name()).starts_with("cache_k");
      if (writes && node.base().op() == 0 && node.source(1) && is_filled(node.source(1).base())) places.writes_keys = i;
      continue;
    }
    for (size_t source = 0; source < node.source_count(); ++source) {
      if (!node.source(source)) continue;
      const GgmlTensor leaf = node.source(source).base();
      if (!is_mask(leaf.name()) || !is_filled(leaf)) continue;
      places.reads_mask = i;
      places.mask_source = source;
      return places;
    }
  }
  return {};
}

uint32_t phase_of_batch(TensorValues& values, const std::vector<GgmlTensor>& nodes, const BatchPlaces& places) {
  if (places.reads_mask == 0 || places.reads_mask >= nodes.size()) return TENSORTAP_MODEL_PHASE_NONE;
  const std::vector<int64_t> cells = cells_of(values, nodes[places.writes_keys]);
  ValueScratch scratch;
  const auto mask = Mask::of(values, nodes[places.reads_mask].source(places.mask_source).base(), scratch);
  if (cells.empty() || !mask) return TENSORTAP_MODEL_PHASE_NONE;
  const auto tokens = static_cast<int64_t>(cells.size());
  // A mask of one stream may be longer than the batch.
  const bool fits = mask->streams() == 1 ? tokens <= mask->tokens() : mask->streams() * mask->tokens() == tokens;
  if (!fits) return TENSORTAP_MODEL_PHASE_NONE;
  // The tokens that a stream has in a batch are of one sequence.
  if (mask->streams() > 1 && mask->tokens() > 1) return TENSORTAP_MODEL_PHASE_PREFILL;
  const std::vector<bool> company = mask->streams() > 1 ? std::vector<bool>(cells.size()) : with_company(*mask, cells);
  size_t of_prompts = 0;
  for (int64_t token = 0; token < tokens; ++token) {
    const bool in_streams = mask->streams() > 1;
    const bool goes_on = !company[token] && mask->sees_several(in_streams ? token : 0, in_streams ? 0 : token);
    of_prompts += goes_on ? 0 : 1;
  }
  if (of_prompts == 0) return TENSORTAP_MODEL_PHASE_DECODE;
  return of_prompts == cells.size() ? TENSORTAP_MODEL_PHASE_PREFILL : TENSORTAP_MODEL_PHASE_NONE;
}

}  // namespace tensortap::ggml
