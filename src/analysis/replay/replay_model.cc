#include "replay/replay_model.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "format/onnx_tensor/onnx_tensor_write.h"
#include "replay/attribute_protos.h"
#include "tensor/channel_blocks.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostWeightBytes = (uint64_t{1} << 31) - (uint64_t{1} << 20);  // protobuf takes 2 GiB
constexpr int64_t kChannelsTogether = 4;
constexpr std::string_view kReorderDomain = "com.microsoft.nchwc";

class ModelWriter {
 public:
  explicit ModelWriter(const DumpIndex& dump) : dump_(dump) {}

  Status add(size_t number, const RecordedOp& op) {
    const OpInfo& info = dump_.ops()[op.op];
    NodeText node{info.type, recorded_op_name(dump_, op), {}, {}, {}, info.domain};
    for (const RecordedInput& input : op.inputs) {
      TENSORTAP_ASSIGN_OR_RETURN(std::string name, value_of(input));
      node.inputs.push_back(std::move(name));
    }
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    for (const RecordedInput& input : op.outer) TENSORTAP_RETURN_IF_ERROR(add_outer(input));
    TENSORTAP_ASSIGN_OR_RETURN(node.attributes, attributes_of(op));
    for (uint32_t slot = 0; slot < info.outputs.size(); ++slot) {
      node.outputs.push_back(info.outputs[slot].empty() ? "" : concat("replay/", number, "_out", slot));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) TENSORTAP_RETURN_IF_ERROR(add_output(number, op, i, node));
    domains_.insert(info.domain);
    append(onnx_field::graph::kNode, node_bytes(node));
    for (std::string& reorder : std::exchange(after_, {})) append(onnx_field::graph::kNode, reorder);
    return {};
  }

  ReplayModel finish(const RuntimeOfDump& runtime) {
    append(onnx_field::graph::kName, "replay");
    std::vector<OperatorSet> sets;
    for (const OperatorSetOfDump& set : runtime.opset) sets.push_back({set.domain, set.version});
    domains_.insert("");
    for (const std::string& domain : domains_) {
      if (std::ranges::find(sets, domain, &OperatorSet::domain) == sets.end()) {
        sets.push_back({domain, domain.empty() ? kAssumedOpset : 1});
      }
    }
    model_.bytes = model_bytes(graph_, sets);
    return std::move(model_);
  }

 private:
  void append(uint32_t tag, std::string_view message) { protozero::pbf_writer(graph_).add_message(tag, message.data(), message.size()); }

  Result<std::vector<std::string>> attributes_of(const RecordedOp& op) {
    TENSORTAP_ASSIGN_OR_RETURN(NodeAttributes attributes, node_attributes(dump_.ops()[op.op], dump_.attribute_bytes()));
    if (attributes.weight_names.empty()) return std::move(attributes.protos);
    for (std::string& proto : attributes.protos) {
      TENSORTAP_ASSIGN_OR_RETURN(proto, with_weights(proto, [&](std::string_view name) -> Result<std::string> {
                                   const auto weight = std::ranges::find(op.weights, name, &RecordedInput::name);
                                   if (weight == op.weights.end() || !weight->row) return corrupt(concat("no weight ", quote(name)));
                                   return weight_bytes(weight->name, *weight->row);
                                 }));
    }
    return std::move(attributes.protos);
  }

  Result<std::string> weight_bytes(const std::string& name, uint32_t number) const {
    const RecordRow& row = dump_.rows()[number];
    TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump_.data(number));
    if (data.view.desc.shape.numel() != row.numel) return unsupported(concat(name_of(number), " has only a part of its values"));
    if (row.bytes > kMostWeightBytes) return unsupported(concat(name_of(number), " has more bytes than a model may hold"));
    return onnx_tensor_bytes(name, data.view);
  }

  // A weight as the runtime's own convolutions want it.
  Result<std::string> filter_bytes(const std::string& name, uint32_t number, const RecordedFilter& stored) const {
    TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump_.data(number));
    const TensorDesc& desc = data.view.desc;
    const FilterBlocks filter{stored.order, stored.block, desc.shape, uint64_t{dtype_info(desc.dtype).bits} / 8};
    const std::optional<uint64_t> count = desc.shape.rank() == 0 ? std::nullopt : filter.filled().numel();
    if (desc.shape.numel() != dump_.rows()[number].numel) return unsupported(concat(name_of(number), " has only a part of its values"));
    if (!count || *count == 0 || filter.bytes_each == 0 || *count > kMostWeightBytes / filter.bytes_each) {
      return unsupported(concat(name_of(number), " cannot be put into blocks of channels"));
    }
    std::vector<std::byte> plain(packed_bytes(desc.dtype, *desc.shape.numel()).value_or(0));
    copy_packed(data.view, plain.data());
    std::vector<std::byte> blocked(*count * filter.bytes_each);
    block_filter(filter, plain.data(), blocked.data());
    return onnx_tensor_bytes(name, {{desc.dtype, filter.filled()}, blocked.data(), nullptr});
  }

  // The runtime takes channels by fours where it puts an image into blocks, and fills them up itself from there.
  [[nodiscard]] bool is_to_fill(const RecordedInput& input) const {
    return input.block != 0 && !input.constant && dump_.rows()[*input.row].shape[1] % kChannelsTogether != 0;
  }
  static RecordData filled(const TensorView& view) {
    const auto dims = view.desc.shape.dims();
    std::vector<int64_t> more(dims.begin(), dims.end());
    more[1] = (more[1] + kChannelsTogether - 1) / kChannelsTogether * kChannelsTogether;
    TensorView whole{{view.desc.dtype, Shape(more)}, nullptr, nullptr};
    const uint64_t bytes = packed_bytes(view.desc.dtype, view.desc.shape.numel().value_or(0)).value_or(0);
    std::vector<std::byte> packed(bytes);
    copy_packed(view, packed.data());
    const auto memory = std::make_shared<std::vector<std::byte>>(bytes / static_cast<uint64_t>(dims[1]) * static_cast<uint64_t>(more[1]));
    const auto images = static_cast<uint64_t>(dims[0]);
    for (uint64_t image = 0; image < images; ++image) {
      std::copy_n(packed.begin() + static_cast<ptrdiff_t>(image * (bytes / images)), bytes / images,
                  memory->begin() + static_cast<ptrdiff_t>(image * (memory->size() / images)));
    }
    whole.data = memory->data();
    return {whole, memory};
  }

  // The name of the value that the op reads. Ops that read the same record share it.
  Result<std::string> value_of(const RecordedInput& input) {
    if (!input.row.has_value()) return std::string();
    std::string name = concat("replay/", !input.elements.empty() ? "sequence" : input.constant ? "weight" : "value", *input.row);
    if (input.filter.has_value()) name += "_in_blocks";
    if (is_to_fill(input)) name += "_filled";
    TENSORTAP_RETURN_IF_ERROR(input.elements.empty() ? add_value(name, input, false) : add_sequence(name, input));
    if (input.optional) return optional_of(name);
    if (input.block == 0) return name;
    std::string blocked = name + "_blocked";
    if (!blocked_.insert(blocked).second) return blocked;
    append(onnx_field::graph::kNode, node_bytes({"ReorderInput", blocked, {name}, {blocked}, {}, kReorderDomain}));
    domains_.emplace(kReorderDomain);
    return blocked;
  }

  Status add_outer(const RecordedInput& input) {
    return input.elements.empty() ? add_value(input.name, input, true) : add_sequence(input.name, input);
  }

  // Elements are inputs of the model; sequences are made of them in it.
  Status add_sequence(const std::string& name, const RecordedInput& input) {
    if (!values_.insert(name).second) return {};
    NodeText node{"SequenceConstruct", name, {}, {name}};
    for (const uint32_t row : input.elements) {
      RecordedInput element;
      element.row = row;
      TENSORTAP_ASSIGN_OR_RETURN(std::string value, value_of(element));
      node.inputs.push_back(std::move(value));
    }
    append(onnx_field::graph::kNode, node_bytes(node));
    return {};
  }

  std::string optional_of(const std::string& name) {
    std::string optional = name + "_optional";
    if (values_.insert(optional).second) append(onnx_field::graph::kNode, node_bytes({"Optional", optional, {name}, {optional}}));
    return optional;
  }

  Status add_value(const std::string& name, const RecordedInput& input, bool has_graphs) {
    if (!values_.insert(name).second) return {};
    if (input.constant) {
      TENSORTAP_ASSIGN_OR_RETURN(const std::string proto,
                                 input.filter ? filter_bytes(name, *input.row, *input.filter) : weight_bytes(name, *input.row));
      append(onnx_field::graph::kInitializer, proto);
      return {};
    }
    const RecordRow& row = dump_.rows()[*input.row];
    auto data = dump_.data(*input.row);
    if (!data.ok()) return data.status();
    if (data->view.desc.shape.numel() != row.numel) return unsupported(concat(name_of(*input.row), " has only a part of its values"));
    if (is_to_fill(input)) *data = filled(data->view);
    TENSORTAP_ASSIGN_OR_RETURN(const int32_t type, onnx_type(row));
    // Branches that are not taken need not fit the sizes of this run: what nested graphs read is left open, as it was in the model.
    const std::vector<int64_t> open(row.desc().shape.dims().size(), -1);
    append(onnx_field::graph::kInput, has_graphs ? tensor_value_info(name, type, open) : value_info(name, type, data->view.desc));
    model_.inputs.push_back({name, *input.row, *std::move(data)});
    return {};
  }

  Status add_output(size_t number, const RecordedOp& op, size_t place, NodeText& node) {
    const RecordedOutput& output = op.outputs[place];
    const RecordRow& row = dump_.rows()[output.row];
    if (output.slot >= node.outputs.size() || node.outputs[output.slot].empty()) {
      return corrupt(concat("the dump lists no output ", output.slot, " of it"));
    }
    TENSORTAP_ASSIGN_OR_RETURN(const int32_t type, onnx_type(row));
    const std::string name = concat(node.outputs[output.slot], output.element < 0 ? "" : concat("_", output.element));
    append(onnx_field::graph::kOutput, value_info(name, type, row.desc()));
    model_.outputs.push_back({name, number, place});
    if (output.element >= 0) return take_element(name, node.outputs[output.slot], output.element);
    if (output.optional) {
      node.outputs[output.slot] += "_optional";
      after_.push_back(node_bytes({"OptionalGetElement", name + "_value", {node.outputs[output.slot]}, {name}}));
    }
    if (output.block == 0) return {};
    std::string& blocked = node.outputs[output.slot];
    blocked += "_blocked";
    const std::vector<std::string> channels = {int_attribute("channels", row.shape[1])};
    after_.push_back(node_bytes({"ReorderOutput", name + "_order", {blocked}, {name}, channels, kReorderDomain}));
    domains_.emplace(kReorderDomain);
    return {};
  }

  Status take_element(const std::string& name, const std::string& sequence, int64_t element) {
    const std::string number = concat("replay/number", element);
    if (values_.insert(number).second) {
      TENSORTAP_ASSIGN_OR_RETURN(const std::string proto, onnx_tensor_bytes(number, {{DType::kInt64, Shape()}, &element, nullptr}));
      append(onnx_field::graph::kInitializer, proto);
    }
    after_.push_back(node_bytes({"SequenceAt", name + "_at", {sequence, number}, {name}}));
    return {};
  }

  static std::string value_info(std::string_view name, int32_t type, const TensorDesc& desc) {
    return tensor_value_info(name, type, {desc.shape.dims().begin(), desc.shape.dims().end()});
  }

  [[nodiscard]] Result<int32_t> onnx_type(const RecordRow& row) const {
    const DTypeInfo& info = dtype_info(row.desc().dtype);
    if (info.onnx == 0) return unsupported(concat("ONNX has no element type ", info.name));
    return static_cast<int32_t>(info.onnx);
  }

  [[nodiscard]] std::string name_of(uint32_t number) const {
    const RecordRow& row = dump_.rows()[number];
    return record_name(row, op_of(dump_, row).name);
  }

  const DumpIndex& dump_;
  std::string graph_;
  ReplayModel model_;
  std::set<std::string> values_;
  std::set<std::string> blocked_;
  std::set<std::string> domains_;
  std::vector<std::string> after_;
};

}  // namespace

Result<ReplayModel> make_replay_model(const DumpIndex& dump, const RuntimeOfDump& runtime, std::span<const RecordedOp* const> ops) {
  ModelWriter writer(dump);
  for (size_t i = 0; i < ops.size(); ++i) TENSORTAP_RETURN_IF_ERROR(writer.add(i, *ops[i]));
  return writer.finish(runtime);
}

}  // namespace tensortap
