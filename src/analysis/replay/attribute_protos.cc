#include "replay/attribute_protos.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "trace/body_inputs.h"
#include "trace/graph_outputs.h"

namespace tensortap {
namespace {

using protozero::pbf_reader;

// What the source adds to the attributes of the node.
constexpr std::string_view kChannelBlock = "channel_block";
constexpr std::string_view kFilterOrder = "filter_order";
constexpr std::string_view kFilterBlock = "filter_block";
constexpr int kMostNested = 64;

std::string_view name_in(pbf_reader reader, uint32_t tag) {
  return reader.next(tag) ? onnx_field::text(reader.get_view()) : std::string_view();
}

bool is_in_file(pbf_reader tensor) { return tensor.next(onnx_field::tensor::kExternalData); }

// Finds the names that nested graphs read and do not make, and their weights that are in files.
class FreeNames {
 public:
  explicit FreeNames(NodeAttributes& found) : found_(found) {}

  Status attribute(pbf_reader reader, int depth) {
    while (reader.next()) {
      if (reader.tag() == onnx_field::attribute::kGraph || reader.tag() == onnx_field::attribute::kGraphs) {
        TENSORTAP_RETURN_IF_ERROR(graph(reader.get_message(), depth + 1));
      } else {
        reader.skip();
      }
    }
    return {};
  }

 private:
  void initializer(pbf_reader tensor) {
    learn(name_in(tensor, onnx_field::tensor::kName));
    if (is_in_file(tensor)) found_.weight_names.emplace_back(trail_.back());
  }
  void learn(std::string_view name) {
    ++known_[name];
    trail_.push_back(name);
  }
  void forget(size_t outside) {
    for (; trail_.size() > outside; trail_.pop_back()) --known_[trail_.back()];
  }
  void use(std::string_view name) {
    const auto known = known_.find(name);
    if (name.empty() || (known != known_.end() && known->second > 0)) return;
    if (seen_.insert(std::string(name)).second) found_.outer_names.emplace_back(name);
  }

  Status graph(pbf_reader reader, int depth) {
    if (depth > kMostNested) return corrupt("its graphs are nested too deeply");
    const size_t outside = trail_.size();
    std::vector<pbf_reader> nodes;
    std::vector<std::string_view> results;
    while (reader.next()) {
      switch (reader.tag()) {
        case onnx_field::graph::kNode:
          nodes.push_back(reader.get_message());
          break;
        case onnx_field::graph::kInput:
          learn(name_in(reader.get_message(), onnx_field::value_info::kName));
          break;
        case onnx_field::graph::kInitializer:
          initializer(reader.get_message());
          break;
        case onnx_field::graph::kOutput:
          results.push_back(name_in(reader.get_message(), onnx_field::value_info::kName));
          break;
        default:
          reader.skip();
      }
    }
    for (const pbf_reader& node : nodes) TENSORTAP_RETURN_IF_ERROR(this->node(node, depth));
    for (const std::string_view result : results) use(result);
    forget(outside);
    return {};
  }

  Status node(pbf_reader reader, int depth) {
    std::vector<std::string_view> outputs;
    while (reader.next()) {
      if (reader.tag() == onnx_field::node::kInput) {
        use(onnx_field::text(reader.get_view()));
      } else if (reader.tag() == onnx_field::node::kOutput) {
        outputs.push_back(onnx_field::text(reader.get_view()));
      } else if (reader.tag() == onnx_field::node::kAttribute) {
        TENSORTAP_RETURN_IF_ERROR(attribute(reader.get_message(), depth));
      } else {
        reader.skip();
      }
    }
    for (const std::string_view output : outputs) learn(output);
    return {};
  }

  NodeAttributes& found_;
  std::unordered_map<std::string_view, int> known_;  // how many graphs around the current place make it
  std::vector<std::string_view> trail_;
  std::unordered_set<std::string> seen_;
};

// Copies a graph attribute and puts in what weights in files hold.
class WeightsPutIn {
 public:
  using TensorOf = std::function<Result<std::string>(std::string_view name)>;
  explicit WeightsPutIn(const TensorOf& tensor_of) : tensor_of_(tensor_of) {}

  Result<std::string> attribute(std::string_view bytes, int depth) {
    return copy(bytes, [&](const onnx_field::RawField& field, std::string& target) -> Status {
      if (field.tag != onnx_field::attribute::kGraph && field.tag != onnx_field::attribute::kGraphs) return keep(field, target);
      return add(field, graph(field.value, depth + 1), target);
    });
  }

 private:
  using Field = onnx_field::RawField;

  template <class AddField>
  static Result<std::string> copy(std::string_view bytes, AddField&& add_field) {
    std::string target;
    pbf_reader reader(onnx_field::view(bytes));
    for (Field field; onnx_field::next_raw(reader, field);) TENSORTAP_RETURN_IF_ERROR(add_field(field, target));
    return target;
  }
  static Status keep(const Field& field, std::string& target) {
    target += field.whole;
    return {};
  }
  // protozero leaves out an empty message.
  static Status add(const Field& field, const Result<std::string>& message, std::string& target) {
    if (message.ok()) target += field.value.empty() ? std::string(field.whole) : as_field(field.tag, *message);
    return message.status();
  }
  Result<std::string> graph(std::string_view bytes, int depth) {
    if (depth > kMostNested) return corrupt("its graphs are nested too deeply");
    return copy(bytes, [&](const Field& field, std::string& target) -> Status {
      const pbf_reader tensor(onnx_field::view(field.value));
      if (field.tag == onnx_field::graph::kInitializer && is_in_file(tensor)) {
        return add(field, tensor_of_(name_in(tensor, onnx_field::tensor::kName)), target);
      }
      return field.tag == onnx_field::graph::kNode ? add(field, node(field.value, depth), target) : keep(field, target);
    });
  }

  Result<std::string> node(std::string_view bytes, int depth) {
    return copy(bytes, [&](const Field& field, std::string& target) -> Status {
      return field.tag == onnx_field::node::kAttribute ? add(field, attribute(field.value, depth), target) : keep(field, target);
    });
  }

  const TensorOf& tensor_of_;
};

bool has_graph(std::string_view attribute) {
  pbf_reader reader(onnx_field::view(attribute));
  while (reader.next()) {
    if (reader.tag() == onnx_field::attribute::kGraph || reader.tag() == onnx_field::attribute::kGraphs) return true;
    reader.skip();
  }
  return false;
}

Status not_whole(std::string_view name, const std::string& what) {
  return unsupported(concat("the dump does not have its attribute ", name, " whole: ", what));
}

Result<std::string> list_attribute(std::string_view name, const Json& list) {
  const auto all = [&list](auto&& is) { return std::ranges::all_of(list, is); };
  if (all([](const Json& item) { return item.is_number_integer(); })) return ints_attribute(name, list.get<std::vector<int64_t>>());
  if (all([](const Json& item) { return item.is_number(); })) return floats_attribute(name, list.get<std::vector<float>>());
  if (all([](const Json& item) { return item.is_string(); })) return texts_attribute(name, list.get<std::vector<std::string>>());
  return not_whole(name, "a list of several types");
}

// What dumps before attributes.bin have instead of a value.
bool is_left_out(const std::string& text) {
  return text == "[tensor]" || text == "[graph]" || (text[0] == '[' && text.ends_with(" values]"));
}

Result<std::string> plain_attribute(std::string_view name, const Json& value) {
  if (value.is_number_integer()) return int_attribute(name, value.get<int64_t>());
  if (value.is_number()) return float_attribute(name, value.get<float>());
  if (value.is_array()) return list_attribute(name, value);
  if (!value.is_string()) return not_whole(name, to_json_text(value));
  const auto text = value.get<std::string>();
  if (!text.empty() && is_left_out(text)) return not_whole(name, text);
  return text_attribute(name, text);
}

Result<std::string> kept_attribute(std::string_view name, const Json& place, std::string_view bytes) {
  const bool is_place = place.is_array() && place.size() == 2 && place[0].is_number_unsigned() && place[1].is_number_unsigned();
  const uint64_t offset = is_place ? place[0].get<uint64_t>() : 0;
  const uint64_t size = is_place ? place[1].get<uint64_t>() : 0;
  if (!is_place || offset > bytes.size() || size > bytes.size() - offset)
    return corrupt(concat("attributes.bin does not hold its attribute ", name));
  return std::string(bytes.substr(offset, size));
}

// The op's attributes, and the one that is the size of a block; 0 = it has none.
std::pair<Json, uint32_t> block_size(const OpInfo& op, std::string_view name) {
  if (op.attributes.find(name) == std::string::npos) return {Json::object(), 0};
  Result<Json> attributes = parse_json(op.attributes, "");
  if (!attributes.ok() || !attributes->is_object()) return {Json::object(), 0};
  const auto block = attributes->find(name);
  const bool is_size = block != attributes->end() && block->is_number_unsigned() && block->get<uint64_t>() < 256;
  const uint32_t size = is_size ? block->get<uint32_t>() : 0;
  return {*std::move(attributes), size};
}

}  // namespace

uint32_t channel_block_of(const OpInfo& op) { return block_size(op, kChannelBlock).second; }

std::optional<RecordedFilter> filter_of(const OpInfo& op) {
  const auto [attributes, block] = block_size(op, kFilterBlock);
  if (block < 2) return std::nullopt;
  const auto order = attributes.find(kFilterOrder);
  const std::string name = order != attributes.end() && order->is_string() ? order->get<std::string>() : "";
  const std::optional<FilterOrder> known = filter_order_named(name);
  return known.has_value() ? std::optional(RecordedFilter{*known, block}) : std::nullopt;
}

Result<NodeAttributes> node_attributes(const OpInfo& op, std::string_view bytes) {
  NodeAttributes found;
  if (op.attributes.empty()) return found;
  TENSORTAP_ASSIGN_OR_RETURN(const Json attributes, parse_json(op.attributes, "its attributes"));
  if (!attributes.is_object()) return corrupt("its attributes are no JSON object");
  for (const auto& [name, value] : attributes.items()) {
    if (name == kGraphOutputs || name == kBodyInputs || name == kChannelBlock || value.is_null()) continue;
    const auto place = value.is_object() ? value.find("ref") : value.end();
    const bool is_kept = value.is_object() && place != value.end();
    TENSORTAP_ASSIGN_OR_RETURN(std::string proto, is_kept ? kept_attribute(name, *place, bytes) : plain_attribute(name, value));
    if (is_kept) {
      const Status read = onnx_field::guarded(concat("its attribute ", name), [&]() -> Status {
        return has_graph(proto) ? FreeNames(found).attribute(pbf_reader(onnx_field::view(proto)), 0) : Status();
      });
      if (!read.ok()) return read;
    }
    found.protos.push_back(std::move(proto));
  }
  return found;
}

Result<std::string> with_weights(std::string_view proto, const std::function<Result<std::string>(std::string_view name)>& tensor_of) {
  return onnx_field::guarded("an attribute", [&] { return WeightsPutIn(tensor_of).attribute(proto, 0); });
}

}  // namespace tensortap
