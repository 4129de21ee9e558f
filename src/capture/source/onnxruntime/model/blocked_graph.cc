#include "source/onnxruntime/model/blocked_graph.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "format/onnx_tensor/tensor_proto.h"
#include "source/onnxruntime/model/fusion_rules.h"
#include "source/onnxruntime/model/name_scope.h"
#include "source/onnxruntime/model/node_attributes.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {
namespace {

constexpr uint32_t kNoImage = UINT32_MAX;
constexpr int kMostSumRounds = 100;  // models settle after a few; the limit is for hostile ones
constexpr int64_t kMostChannels = int64_t{1} << 31;
constexpr std::string_view kSuffix = "_nchwc";

bool is_on_blocks(const Node& node) { return node.domain == kBlockedDomain; }

bool has_images(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return is_on_blocks(node) || std::ranges::any_of(node.subgraphs, [](const Subgraph& body) { return has_images(*body.graph); });
  });
}

int64_t whole_attribute(const Node& node, const std::string& name, int64_t otherwise) {
  const Json attributes = attributes_of(node);
  const auto found = attributes.find(name);
  return found != attributes.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

// Names of a model's nested graphs, too. A name that two of them have is of no use.
class NamedParts {
 public:
  explicit NamedParts(const Model& model) { add(model.graph); }

  [[nodiscard]] const Node* producer(std::string_view value) const { return find(producers_, value); }
  [[nodiscard]] const Initializer* weight(std::string_view name) const { return find(weights_, name); }

 private:
  template <class Map>
  static typename Map::mapped_type find(const Map& map, std::string_view name) {
    const auto entry = map.find(name);
    return entry == map.end() ? nullptr : entry->second;
  }
  template <class Map>
  static void put(Map& map, std::string_view name, typename Map::mapped_type part) {
    const auto [entry, is_new] = map.try_emplace(name, part);
    if (!is_new) entry->second = nullptr;
  }
  void add(const Graph& graph) {
    for (const Initializer& initializer : graph.initializers) put(weights_, initializer.name, &initializer);
    for (const Node& node : graph.nodes) {
      for (const std::string_view output : node.outputs) put(producers_, output, &node);
      for (const Subgraph& body : node.subgraphs) add(*body.graph);
    }
  }

  std::unordered_map<std::string_view, const Node*> producers_;
  std::unordered_map<std::string_view, const Initializer*> weights_;
};

// Numbers of channels, one for each image. A number counts as unknown if its sources contradict each other.
class ChannelCounts {
 public:
  uint32_t add() {
    parents_.push_back(static_cast<uint32_t>(parents_.size()));
    counts_.push_back(kUnknownChannels);
    contradicts_.push_back(false);
    return parents_.back();
  }
  [[nodiscard]] int64_t of(uint32_t image) {
    const uint32_t root = root_of(image);
    return contradicts_[root] ? kUnknownChannels : counts_[root];
  }
  void set(uint32_t image, int64_t count) {
    if (image == kNoImage || count <= 0 || count > kMostChannels) return;
    const uint32_t root = root_of(image);
    if (counts_[root] != kUnknownChannels && counts_[root] != count) contradicts_[root] = true;
    counts_[root] = count;
  }
  void unite(uint32_t a, uint32_t b) {
    if (a == kNoImage || b == kNoImage) return;
    const uint32_t kept = root_of(b);
    const uint32_t gone = root_of(a);
    if (kept == gone) return;
    parents_[gone] = kept;
    contradicts_[kept] = contradicts_[kept] || contradicts_[gone];
    set(kept, counts_[gone]);
  }
  void add_sum(uint32_t total, std::vector<uint32_t> parts) { sums_.emplace_back(total, std::move(parts)); }

  // Each sum that lacks one number gives it, until no more do.
  void solve_sums() {
    for (int round = 0; round < kMostSumRounds; ++round) {
      for (const auto& [total, parts] : sums_) solve(total, parts);
    }
  }

 private:
  [[nodiscard]] uint32_t root_of(uint32_t image) {
    while (parents_[image] != image) image = parents_[image] = parents_[parents_[image]];
    return image;
  }
  void solve(uint32_t total, const std::vector<uint32_t>& parts) {
    int64_t sum = 0;
    uint32_t lacks = kNoImage;
    for (const uint32_t part : parts) {
      const int64_t count = of(part);
      if (count == kUnknownChannels && lacks != kNoImage) return;
      if (count == kUnknownChannels) lacks = part;
      sum += count;
    }
    if (lacks == kNoImage) return set(total, sum);
    if (of(total) != kUnknownChannels) set(lacks, of(total) - sum);
  }

  std::vector<uint32_t> parents_;
  std::vector<int64_t> counts_;  // of roots
  std::vector<bool> contradicts_;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> sums_;
};

struct BlockedConvolution {
  const Node* before = nullptr;  // null = not known
  uint32_t input = kNoImage;     // kNoImage: it reads an image without blocks
  uint32_t output = kNoImage;
  bool by_channel = false;  // each channel by itself
  bool one_group = true;
  const Initializer* filter = nullptr;
  const Initializer* bias = nullptr;
  std::vector<int64_t> filter_dims;  // as they are stored
};

class BlocksFinder {
 public:
  BlocksFinder(const Model& before, const Model& author, uint32_t block, BlockedGraph& result)
      : before_(before), author_(author), block_(block), result_(result) {}

  void find(const Model& executed) {
    images_.resize(executed.node_count);
    result_.nodes.resize(executed.node_count);
    follow(executed.graph, nullptr, nullptr);
    counts_.solve_sums();
    for (size_t i = 0; i < images_.size(); ++i) tell(images_[i], result_.nodes[i]);
    for (const BlockedConvolution& convolution : convolutions_) tell_weights(convolution);
  }

 private:
  using Images = NameScope<uint32_t>;
  using Weights = NameScope<const Initializer*>;
  struct ImagesOfNode {
    uint32_t output = kNoImage;
    std::vector<uint32_t> inputs;
  };

  void follow(const Graph& graph, const Images* outer, const Weights* outer_weights) {
    Images images(outer);
    Weights weights(outer_weights);
    for (const ValueInfo& input : graph.inputs) {
      images.set(input.name, kNoImage);
      weights.set(input.name, nullptr);
    }
    for (const Initializer& initializer : graph.initializers) {
      images.set(initializer.name, kNoImage);
      weights.set(initializer.name, &initializer);
    }
    for (const Node& node : graph.nodes) {
      for (const Subgraph& body : node.subgraphs) follow(*body.graph, &images, &weights);
      ImagesOfNode& own = images_[node.index];
      for (const std::string_view input : node.inputs) own.inputs.push_back(images.find(input, kNoImage));
      if (makes_image(node, own)) own.output = counts_.add();
      for (const std::string_view output : node.outputs) {
        images.set(output, own.output);
        weights.set(output, nullptr);
      }
      relate(node, own, weights);
    }
  }

  // If a node reads such an image and is not one of the runtime's own operators, it works element by element, so it makes such an image.
  static bool makes_image(const Node& node, const ImagesOfNode& own) {
    if (is_on_blocks(node)) return node.type != "ReorderOutput";
    return std::ranges::any_of(own.inputs, [](uint32_t input) { return input != kNoImage; });
  }

  void relate(const Node& node, const ImagesOfNode& own, const Weights& weights) {
    if (own.output == kNoImage) {
      if (is_on_blocks(node) && !own.inputs.empty()) counts_.set(own.inputs[0], whole_attribute(node, "channels", 0));
    } else if (is_on_blocks(node) && node.type == "Conv") {
      relate_convolution(node, own, weights);
    } else if (node.type == "Concat" && whole_attribute(node, "axis", 1) == 1) {
      if (std::ranges::find(own.inputs, kNoImage) == own.inputs.end()) counts_.add_sum(own.output, own.inputs);
    } else {
      for (const uint32_t input : own.inputs) counts_.unite(own.output, input);
    }
  }

  void relate_convolution(const Node& node, const ImagesOfNode& own, const Weights& weights) {
    BlockedConvolution convolution;
    convolution.output = own.output;
    if (own.inputs.size() > 3) counts_.unite(own.output, own.inputs[3]);  // what it adds
    const auto weight = [&](size_t slot) { return slot < node.inputs.size() ? weights.find(node.inputs[slot], nullptr) : nullptr; };
    convolution.filter = weight(1);
    convolution.bias = weight(2);
    if (own.inputs.empty() || convolution.filter == nullptr) return;
    convolution.input = own.inputs[0];
    convolution.filter_dims = tensor_proto_dims(convolution.filter->bytes);
    if (convolution.filter_dims.size() < 2) return;
    convolution.one_group = whole_attribute(node, "group", 1) == 1;
    convolution.by_channel = !convolution.one_group && convolution.filter_dims[1] == 1;
    if (convolution.by_channel) counts_.unite(convolution.input, convolution.output);
    convolution.before = node_before(node, convolution);
    if (convolution.before != nullptr) {
      const std::vector<int64_t> dims = dims_before(*convolution.before);
      counts_.set(convolution.output, dims[0]);
      if (convolution.one_group) counts_.set(convolution.input, dims[1]);
    }
    if (!convolution.one_group && !convolution.by_channel) counts_.set(convolution.output, convolution.filter_dims[0]);
    convolutions_.push_back(std::move(convolution));
  }

  [[nodiscard]] std::vector<int64_t> dims_before(const Node& node) const {
    const Initializer* filter = node.inputs.size() > 1 ? before_.weight(node.inputs[1]) : nullptr;
    return filter == nullptr ? std::vector<int64_t>() : tensor_proto_dims(filter->bytes);
  }

  // The convolution that the runtime put into blocks: its result has the name of the node.
  [[nodiscard]] const Node* node_before(const Node& node, const BlockedConvolution& convolution) const {
    for (const std::string_view name : {node.name, without_token(node.name)}) {
      if (!name.ends_with(kSuffix)) continue;
      const Node* before = before_.producer(name.substr(0, name.size() - kSuffix.size()));
      if (before == nullptr || (before->type != "Conv" && before->type != "FusedConv") || is_on_blocks(*before)) continue;
      if (fits(dims_before(*before), convolution)) return before;
    }
    return nullptr;
  }

  [[nodiscard]] bool fits(const std::vector<int64_t>& dims, const BlockedConvolution& convolution) const {
    const std::vector<int64_t>& stored = convolution.filter_dims;
    if (dims.size() != stored.size() || !std::equal(dims.begin() + 2, dims.end(), stored.begin() + 2)) return false;
    return fills_up(dims[0], stored[0]) && (dims[1] == stored[1] || fills_up(dims[1], stored[1]));
  }
  [[nodiscard]] bool fills_up(int64_t count, int64_t stored) const { return count > 0 && count <= stored && stored - count < block_; }

  void tell(const ImagesOfNode& images, NodeImages& node) {
    const auto count = [this](uint32_t image) { return image == kNoImage ? kNotBlocked : counts_.of(image); };
    node.outputs = count(images.output);
    for (const uint32_t input : images.inputs) node.inputs.push_back(count(input));
    if (node.outputs == kUnknownChannels) ++result_.unknown;
  }

  void tell_weights(const BlockedConvolution& convolution) {
    const Node* before = convolution.before;
    const auto name = [before](size_t slot) {
      return std::string(before == nullptr || slot >= before->inputs.size() ? "" : before->inputs[slot]);
    };
    const bool reads_blocks = convolution.input != kNoImage;
    BlockedWeight filter;
    filter.order = convolution.by_channel || !reads_blocks ? FilterOrder::kOutputs : FilterOrder::kInputsAndOutputs;
    filter.dims = convolution.filter_dims;
    filter.name = name(1);
    const int64_t outputs = counts_.of(convolution.output);
    if (fills_up(outputs, filter.dims[0])) filter.dims[0] = outputs;
    const int64_t inputs = convolution.one_group && reads_blocks ? counts_.of(convolution.input) : kUnknownChannels;
    if (fills_up(inputs, filter.dims[1])) filter.dims[1] = inputs;
    tell_weight(*convolution.filter, filter);
    if (convolution.bias == nullptr) return;
    BlockedWeight bias;
    bias.dims = tensor_proto_dims(convolution.bias->bytes);
    bias.name = name(2);
    if (bias.dims.size() == 1 && fills_up(outputs, bias.dims[0])) bias.dims[0] = outputs;
    if (bias.dims.size() == 1) tell_weight(*convolution.bias, bias);
  }

  // Convolutions that share a weight agree about it.
  void tell_weight(const Initializer& initializer, const BlockedWeight& weight) {
    const Initializer* authors = author_.weight(initializer.name);
    if (authors != nullptr && tensor_proto_dims(authors->bytes) == tensor_proto_dims(initializer.bytes)) return;
    result_.weights.try_emplace(&initializer, weight);
  }

  const NamedParts before_;
  const NamedParts author_;
  const int64_t block_;
  BlockedGraph& result_;
  ChannelCounts counts_;
  std::vector<ImagesOfNode> images_;  // by Node::index
  std::vector<BlockedConvolution> convolutions_;
};

}  // namespace

bool has_blocked_images(const Model& model) { return has_images(model.graph); }

BlockedGraph find_blocks(const Model& executed, const Model& author, LowerLevels& levels, uint32_t block) {
  const Model* before = levels.at(abi::kOptimizeExtended);  // the last level without blocks
  BlockedGraph result;
  result.block = block;
  BlocksFinder(before == nullptr ? author : *before, author, block, result).find(executed);
  return result;
}

}  // namespace tensortap::onnxruntime
