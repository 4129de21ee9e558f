#include <map>

#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/names.h"
#include "system/mindspore/tree/graph_description.h"
#include "system/mindspore/tree/graph_values.h"
#include "trace/scoped_name.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kDetail = "      ";

// MindSpore's tools find a node by "%3(NAME) = TYPE(...)" and count parentheses in the operands. Other characters than these would hide the
// node.
std::string node_name(std::string_view name) { return identifier(name, "."); }
std::string node_type(std::string_view type) {
  std::string name = identifier(type);
  return name[0] >= '0' && name[0] <= '9' ? concat("_", name) : name;
}
std::string operand_name(std::string_view name) { return identifier(name, "./-:#[]"); }

std::string dims_text(const TensorDesc& desc) {
  std::string text;
  for (int i = 0; i < desc.shape.rank(); ++i) text += concat(i == 0 ? "" : ", ", desc.shape[i]);
  return text;
}

// Texts of one version: types, attributes.
class IrText {
 public:
  explicit IrText(const TreeRules& rules) : older_(rules.older_graph_text) {
    profile_ = *parse_profile("");  // dtypes are named as on cpu everywhere
  }

  [[nodiscard]] std::string host_type(const TensorDesc& desc) const {
    if (desc.dtype == DType::kUndefined) return "<null>";
    return concat("<Tensor[", dtype_name(profile_, desc.dtype), "], (", dims_text(desc), ")>");
  }
  // The dimensions of an input, which newer versions repeat.
  [[nodiscard]] std::string dims(const TensorDesc& desc) const {
    return older_ || desc.dtype == DType::kUndefined ? "" : concat(" : [", dims_text(desc), "]");
  }
  [[nodiscard]] std::string device_type(const TensorDesc& desc) const {
    if (desc.dtype == DType::kUndefined) return "<null>";
    return concat("<", dtype_name(profile_, desc.dtype), "xDefaultFormat[const vector]", older_ ? "[" : "{", dims_text(desc),
                  older_ ? "]" : "}", ">");
  }
  [[nodiscard]] std::string value(const Json& json) const {
    if (json.is_boolean()) return older_ ? to_text(json.get<bool>()) : concat("Bool(", json.get<bool>() ? 1 : 0, ")");
    if (json.is_number_integer()) return older_ ? json.dump() : concat("I64(", json.dump(), ")");
    if (json.is_number()) return older_ ? to_json_text(json) : concat("F32(", to_json_text(json), ")");
    if (!json.is_array()) return to_json_text(json);
    std::string text;
    for (const Json& part : json) text += concat(text.empty() ? "" : ", ", part.is_string() ? to_json_text(part) : plain(part));
    return concat("(", text, ")");
  }
  [[nodiscard]] std::string attributes(const std::string& text) const {
    const Result<Json> parsed = parse_json(text, "attributes");
    if (text.empty() || !parsed.ok() || !parsed->is_object() || parsed->empty()) return "";
    std::string parts;
    for (const auto& [name, json] : parsed->items()) parts += concat(parts.empty() ? "" : ", ", name, ": ", value(json));
    return concat(" primitive_attrs: {", parts, "}");
  }
  [[nodiscard]] std::string graph_name(size_t number) const { return concat(older_ ? "kernel_graph_" : "kernel_graph", number); }
  [[nodiscard]] bool older() const { return older_; }

 private:
  static std::string plain(const Json& json) { return json.is_boolean() ? to_text(json.get<bool>()) : to_json_text(json); }
  bool older_;
  Profile profile_;
};

class IrFile {
 public:
  IrFile(const TreeRules& rules, std::span<const GraphOp> ops)
      : text_of_(rules), ops_(ops), values_(graph_values(ops)), names_(ops.size()) {
    for (size_t i = 0; i < values_.parameters.size(); ++i) {
      names_[values_.parameters[i]] = concat("%para", i + 1, "_", operand_name(ops[values_.parameters[i]].scoped_name));
    }
    graphs_[""];
    for (const size_t i : values_.nodes) {
      std::vector<size_t>& nodes = graphs_[ops[i].info->graph];
      names_[i] = concat("%", nodes.size());
      nodes.push_back(i);
    }
    for (const auto& [path, nodes] : graphs_) graph_names_.emplace(path, text_of_.graph_name(graph_names_.size()));
  }

  std::string text() {
    head();
    for (const auto& [path, nodes] : graphs_) subgraph(path, nodes);
    return std::move(text_);
  }

 private:
  void line(const std::string& content) {
    text_ += content;
    text_ += '\n';
  }

  void head() {
    line(concat("# IR entry: @", graph_names_.find("")->second));
    line(concat("# Total subgraphs: ", graphs_.size(), "\n"));
    line(concat("# Total params: ", values_.parameters.size()));
    line("# Params:");
    for (const size_t i : values_.parameters) {
      const TensorDesc desc = seen_output(ops_[i], 0);
      const bool weight = ops_[i].info->type == kInitializerType;
      line(concat(names_[i], text_of_.older() ? " : " : ": ", text_of_.host_type(desc), weight ? "  :  has_default" : text_of_.dims(desc),
                  "  :  ", text_of_.device_type(desc), "  :  IsWeight: ", weight ? "true" : "false"));
    }
    line("");
    if (text_of_.older()) return;
    line("Node counting information:");
    line(concat("Total number of nodes: ", values_.nodes.size() + values_.parameters.size()));
    line(concat("Total number of cnodes: ", values_.nodes.size(), "\n"));
  }

  void subgraph(const std::string& path, const std::vector<size_t>& nodes) {
    const std::string& name = graph_names_.find(path)->second;
    line(concat("subgraph instance: ", name, " : ", path.empty() ? "main" : clean_cell(path), "\n"));
    line(concat("subgraph @", name, path.empty() ? "" : concat(" parent: [subgraph @", graph_names_.find("")->second, "]"), "() {"));
    for (const size_t i : nodes) node(i, path);
    outputs(nodes);
    line("}");
    if (!text_of_.older()) {
      line("# Order:");
      for (size_t i = 0; i < nodes.size(); ++i) line(concat("#   ", i + 1, ": @", name, ":", clean_cell(ops_[nodes[i]].scoped_name)));
    }
    line("\n");
  }

  // The result of the graph, as far as it shows: the outputs that no op reads.
  void outputs(const std::vector<size_t>& nodes) {
    std::string results;
    for (const size_t i : nodes) {
      if (!values_.is_read[i]) results += concat(results.empty() ? "" : ", ", names_[i]);
    }
    line(concat("  Return(", results, ")"));
  }

  // "%3", of one of several outputs "%3[1]", of another graph "$(@kernel_graph1:3)".
  std::string value(const GraphValue& value, const std::string& path) const {
    const GraphOp& producer = ops_[value.producer];
    std::string text = names_[value.producer];
    if (!is_pseudo_op(*producer.info) && producer.info->graph != path) {
      text = concat("$(@", graph_names_.find(producer.info->graph)->second, ":", text.substr(1), ")");
    }
    if (output_count(producer) > 1) text += concat("[", value.slot, "]");
    return value.element < 0 ? text : concat(text, "[", value.element, "]");
  }

  std::string operand(const GraphInput& input, const std::string& path) const {
    if (producer_of(ops_, input.value) != nullptr) return value(input.value, path);
    return input.name.empty() ? "None" : concat("\"", operand_name(input.name), "\"");
  }

  // Each sequence has separate parentheses.
  std::string operands(const GraphOp& op, const std::string& path) const {
    std::string text;
    const GraphInput* before = nullptr;
    for (const GraphInput& input : op.inputs) {
      const bool goes_on = before != nullptr && before->in_list && input.in_list && before->slot == input.slot;
      if (before != nullptr && before->in_list && !goes_on) text += ")";
      text += concat(before == nullptr ? "" : ", ", input.in_list && !goes_on ? "(" : "", operand(input, path));
      before = &input;
    }
    return before != nullptr && before->in_list ? concat(text, ")") : text;
  }

  // The program's names of the weights that the op reads, whichever op made them.
  void parameters(const GraphOp& op) {
    std::string text;
    for (const GraphInput& input : op.inputs) {
      if (input.is_parameter) text += concat(text.empty() ? "" : ", ", "in", input.slot, " ", clean_cell(input.name));
    }
    if (!text.empty()) line(concat(kDetail, "# Parameters: (", text, ")"));
  }

  // An op that runs several times may read something else each time.
  void other_calls(const GraphOp& op, const std::string& path) {
    std::string text;
    for (const GraphInput& input : op.inputs) {
      for (const GraphValue& other : input.in_other_calls) {
        if (producer_of(ops_, other) == nullptr) continue;
        text += concat(text.empty() ? "" : ", ", "in", input.slot, input.in_list ? "[]" : "", " ", value(other, path));
      }
    }
    if (!text.empty()) line(concat(kDetail, "# In other calls: (", text, ")"));
  }

  using TypeText = std::string (IrText::*)(const TensorDesc&) const;
  void types(const GraphOp& op, TypeText type) {
    std::string inputs;
    for (const GraphInput& input : op.inputs) inputs += concat(inputs.empty() ? "" : ", ", (text_of_.*type)(input.desc));
    std::string outputs;
    for (size_t slot = 0; slot < output_count(op); ++slot)
      outputs += concat(slot == 0 ? "" : ", ", (text_of_.*type)(seen_output(op, slot)));
    line(concat(kDetail, ": (", inputs, ") -> (", outputs, ")"));
  }

  void node(size_t position, const std::string& path) {
    const GraphOp& op = ops_[position];
    const OpInfo& info = *op.info;
    line(concat("  ", names_[position], "(", node_name(info.outputs.empty() ? info.name : info.outputs[0]), ") = ", node_type(info.type),
                "(", operands(op, path), ") {instance name: ", operand_name(info.name), "}", text_of_.attributes(info.attributes)));
    types(op, &IrText::host_type);
    types(op, &IrText::device_type);
    line(concat(kDetail, "# Fullname with scope: (", clean_cell(op.scoped_name), ")"));
    if (!info.source_location.empty()) line(concat(kDetail, "# In file ", clean_cell(info.source_location), "/"));
    parameters(op);
    other_calls(op, path);
    for (const OriginalNode& original : info.originals) {
      if (is_itself(original, info)) continue;
      line(concat(kDetail, "# Original node: (", clean_cell(original.name), ", ", clean_cell(original.type), ")"));
    }
  }

  IrText text_of_;
  std::span<const GraphOp> ops_;
  GraphValues values_;
  std::vector<std::string> names_;  // by position
  std::map<std::string, std::vector<size_t>> graphs_;
  std::map<std::string, std::string> graph_names_;
  std::string text_;
};

}  // namespace

std::string graph_ir(const TreeRules& rules, std::span<const GraphOp> ops) { return IrFile(rules, ops).text(); }

}  // namespace tensortap::mindspore
