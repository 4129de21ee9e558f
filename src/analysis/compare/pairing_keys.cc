#include "compare/pairing_keys.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compare/file_contents.h"
#include "stats/stats.h"
#include "trace/graph_outputs.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

// The output of these ops is known without the values that they read, or is one of them.
constexpr std::array<std::string_view, 19> kKnownTypes = {
    "Constant", "Shape",  "Size",  "ConstantOfShape", "empty",    "empty_like", "zeros",         "zeros_like", "ones",     "ones_like",
    "full",     "arange", "zero_", "fill_",           "uniform_", "normal_",    "scalar_tensor", "new_empty",  "new_zeros"};
// The output of these ops is their input, in another form.
constexpr std::array<std::string_view, 33> kHandsOn = {"detach_",
                                                       "Identity",
                                                       "Dropout",
                                                       "Cast",
                                                       "Transpose",
                                                       "Reshape",
                                                       "Flatten",
                                                       "Squeeze",
                                                       "Unsqueeze",
                                                       "Expand",
                                                       "QuantizeLinear",
                                                       "DequantizeLinear",
                                                       "detach",
                                                       "alias",
                                                       "view",
                                                       "_unsafe_view",
                                                       "t",
                                                       "transpose",
                                                       "permute",
                                                       "dropout",
                                                       "expand",
                                                       "squeeze",
                                                       "unsqueeze",
                                                       "_to_copy",
                                                       "clone",
                                                       "reshape",
                                                       "lift_fresh",
                                                       "copy_",
                                                       "contiguous",
                                                       "CONT",
                                                       "CPY",
                                                       "DUP",
                                                       "_reshape_alias"};
constexpr char kSeparator = '\x1f';
constexpr uint64_t kLeastContent = 5;      // elements
constexpr uint64_t kLeastStatistics = 16;  // elements
constexpr size_t kFurtherSteps = 2;        // where an op may read what another one made in the step before

template <class... Parts>
std::string key_of(const Parts&... parts) {
  std::string key;
  ((key += concat(parts, kSeparator)), ...);
  return key;
}

// ONNX Runtime calls a value that it makes itself NAME_token_NUMBER, and the first of them NAME. The base; "" for other names.
std::string_view numbered_base(std::string_view name) {
  constexpr std::string_view kToken = "_token_";
  const size_t at = name.rfind(kToken);
  return at != std::string_view::npos && is_digits(name.substr(at + kToken.size())) ? name.substr(0, at) : std::string_view();
}

// "0_9946" without the process: "0"; "" for what has another form.
std::string_view without_process(std::string_view graph) {
  const size_t at = graph.find('_');
  if (at == 0 || at == std::string_view::npos || !is_digits(graph.substr(0, at)) || !is_digits(graph.substr(at + 1))) return "";
  return graph.substr(0, at);
}

// Whether every graph is one rank's process, and each rank has one.
bool have_process_numbers(std::span<const OpInfo> ops) {
  std::unordered_map<std::string_view, std::string_view> by_rank;
  for (const OpInfo& op : ops) {
    const std::string_view rank = without_process(op.graph);
    if (rank.empty() || by_rank.try_emplace(rank, op.graph).first->second != op.graph) return false;
  }
  return !by_rank.empty();
}

// What frameworks call one kind of op, in small letters and without "_"; a kind that all call the same needs no row.
constexpr auto kFamilies = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"convolution", "conv"},
    {"conv2d", "conv"},
    {"conv3d", "conv"},
    {"fusedconv", "conv"},
    {"nativebatchnorm", "batch norm"},
    {"nativebatchnormlegit", "batch norm"},
    {"nativebatchnormlegitnotraining", "batch norm"},
    {"cudnnbatchnorm", "batch norm"},
    {"batchnormalization", "batch norm"},
    {"batchnorm", "batch norm"},
    {"nativelayernorm", "layer norm"},
    {"layernormalization", "layer norm"},
    {"layernorm", "layer norm"},
    {"maxpool2dwithindices", "max pool"},
    {"maxpool", "max pool"},
    {"maxpool3d", "max pool"},
    {"maxpoolwithargmax", "max pool"},
    {"avgpool2d", "average pool"},
    {"averagepool", "average pool"},
    {"avgpool", "average pool"},
    {"avgpool3d", "average pool"},
    {"view", "reshape"},
    {"unsafeview", "reshape"},
    {"reshapealias", "reshape"},
    {"flatten", "reshape"},
    {"expanddims", "unsqueeze"},
    {"addmm", "linear"},
    {"mm", "linear"},
    {"bmm", "linear"},
    {"baddbmm", "linear"},
    {"gemm", "linear"},
    {"matmul", "linear"},
    {"fusedmatmul", "linear"},
    {"batchmatmul", "linear"},
    {"mulmat", "linear"},
    {"mulmatid", "linear"},
    {"dense", "linear"},
    {"gather", "select"},
    {"gatherv2", "select"},
    {"embedding", "select"},
    {"indexselect", "select"},
    {"getrows", "select"},
    {"flashattnext", "attention"},
    {"cont", "clone"},
    {"cpy", "copy"},
    {"dup", "clone"},
    {"sumrows", "sum"},
    {"cat", "concat"},
    {"concatv2", "concat"},
    {"permute", "transpose"},
    {"t", "transpose"},
    {"biasadd", "add"},
    {"addn", "add"},
    {"realdiv", "div"},
    {"reducemean", "mean"},
    {"reducesum", "sum"},
    {"tocopy", "cast"},
    {"globalaveragepool", "mean"},
    {"adaptiveavgpool2d", "mean"},
    {"hardtanh", "clip"},
    {"clamp", "clip"},
    {"relugrad", "relu gradient"},
    {"thresholdbackward", "relu gradient"},
    {"maxpoolgrad", "max pool gradient"},
    {"maxpool2dwithindicesbackward", "max pool gradient"},
    {"batchnormgrad", "batch norm gradient"},
    {"nativebatchnormbackward", "batch norm gradient"},
    {"biasaddgrad", "sum"},
});

// Cells of MindSpore that run another one; the path of a module begins inside of them.
constexpr std::array<std::string_view, 6> kWrappers = {"WithLossCell", "TrainOneStepCell", "TrainOneStepWithLossScaleCell",
                                                       "WithGradCell", "WithEvalCell",     "ForwardValueAndGrad"};
constexpr std::string_view kGradients = "Gradients/";
constexpr std::string_view kDefault = "Default/";

// "/conv1" of "Default/network-WithLossCell/_backbone-LeNet/conv1-Conv2d/Conv2D-op0", and of its gradients; "" for other names.
std::string scope_of_scoped_name(std::string_view name, std::string_view type) {
  if (name.starts_with(kGradients)) name.remove_prefix(kGradients.size());
  if (!name.starts_with(kDefault)) return "";
  auto parts = split(name.substr(kDefault.size()), '/');
  parts.pop_back();
  std::string path;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t dash = parts[i].find('-');
    const std::string_view cell = parts[i].substr(0, dash);
    const std::string_view kind = dash == std::string_view::npos ? std::string_view() : parts[i].substr(dash + 1);
    // The network inside of a wrapper, by whatever attribute the wrappers of MindSpore call it.
    const bool of_wrapper = cell == "_backbone" || cell == "_network" || (i == 0 && cell == "network");
    if (of_wrapper) path.clear();
    // An op in a separate scope, as trees of other frameworks have it, and the gradient of one.
    const bool of_op = kind.empty() && (cell.starts_with("Grad_") || (i + 1 == parts.size() && cell.starts_with(type)));
    if (of_wrapper || of_op || std::ranges::find(kWrappers, kind) != kWrappers.end()) continue;
    path += concat('/', cell);
  }
  return path.empty() ? "/" : path;
}

// "/features/6/0" of "/features/features.6/features.6.0/Conv": torch's exporter names a part of a sequence by the whole sequence, with
// dots within it.
std::string scope_of_exported_name(std::string_view name) {
  name = name.substr(0, name.rfind('/'));
  if (name.empty()) return "/";
  std::vector<std::string_view> kept;
  for (const std::string_view part : split(name.substr(1), '/')) {
    const bool repeats =
        !kept.empty() && part.size() > kept.back().size() && part.starts_with(kept.back()) && part[kept.back().size()] == '.';
    if (repeats) kept.pop_back();
    kept.push_back(part);
  }
  std::string path;
  for (const std::string_view part : kept) path += concat('/', part);
  std::ranges::replace(path, '.', '/');
  return path;
}

std::string module_path(const OpInfo& op) {
  if (!op.module.empty()) {
    // The first part is the model's class, which an exported graph does not name.
    std::string path;
    const auto parts = split(op.module, '.');
    for (size_t i = 1; i < parts.size(); ++i) path += concat('/', parts[i]);
    return path.empty() ? "/" : path;
  }
  if (!op.name.starts_with('/')) return scope_of_scoped_name(op.name, op.type);
  return scope_of_exported_name(op.name);
}

}  // namespace

PairingKeys::PairingKeys(const ValueTable& table) : table_(table), inputs_(table.values().size()), readers_(table.values().size()) {
  for (ValueId id = 0; id < table.values().size(); ++id) {
    if (const std::string_view base = numbered_base(table.name(id)); !base.empty()) numbered_.emplace(base);
    knows_originals_ |= !table.op(id).originals.empty();
    for (const auto& node : table.op(id).originals) nodes_.insert(node.name);
    for (const uint32_t row : table.inputs_of(table.at(id).rows.front())) {
      const ValueId input = row == kNoRow ? kNoValue : table.value_of(row);
      if (input != kNoValue) readers_[input].push_back({id, static_cast<uint32_t>(inputs_[id].size())});
      inputs_[id].push_back(input);
    }
  }
  numbers_processes_ = have_process_numbers(table.dump().ops());
  find_constants();
  find_later_readers();
}

std::string_view PairingKeys::graph_of(const OpInfo& op) const {
  return numbers_processes_ ? without_process(op.graph) : std::string_view(op.graph);
}

void PairingKeys::find_later_readers() {
  later_readers_.resize(table_.values().size());
  for (ValueId id = 0; id < table_.values().size(); ++id) {
    const std::vector<uint32_t>& rows = table_.at(id).rows;
    const auto step_of = [this](uint32_t row) { return table_.dump().rows()[row].step; };
    size_t further = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
      if (step_of(rows[i]) != step_of(rows.front()) && ++further > kFurtherSteps) break;
      for (const uint32_t row : table_.inputs_of(rows[i])) {
        const ValueId input = row == kNoRow ? kNoValue : table_.value_of(row);
        // One reader appears once, except if others ran between its executions.
        if (input == kNoValue || (!later_readers_[input].empty() && later_readers_[input].back() == id)) continue;
        later_readers_[input].push_back(id);
      }
    }
  }
}

void PairingKeys::find_constants() {
  is_constant_.assign(table_.values().size(), false);
  // In the order of execution: the inputs of an op were looked at before it.
  for (ValueId id = 0; id < is_constant_.size(); ++id) {
    const OpInfo& op = table_.op(id);
    const auto is_known = [this](ValueId input) { return input != kNoValue && is_constant_[input]; };
    const bool of_known = !table_.at(id).given && !inputs_[id].empty() && std::ranges::all_of(inputs_[id], is_known);
    is_constant_[id] = of_known || op.type == kInitializerType || std::ranges::find(kKnownTypes, op.type) != kKnownTypes.end();
  }
}

bool PairingKeys::is_runtime_name(const std::string& name) const { return !numbered_base(name).empty() || numbered_.contains(name); }

std::string PairingKeys::value_name(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (value.kind == SlotKind::kInput) return "";
  std::string name = table_.name(id);
  // Whatever op makes an output of the graph, its name is the author's.
  if (!name.empty() && has_graph_output(op, value.slot)) return key_of(graph_of(op), name, value.element, value.given);
  if (op.inserted_by_runtime) return "";
  // Where authors' nodes are known, the runtime named the ops that implement none of them.
  if (knows_originals_ && op.originals.empty() && !value.given) return "";
  if (name.empty() && value.given) name = op.name;
  if (name.empty() || is_runtime_name(name)) return "";
  return key_of(graph_of(op), name, value.element, value.given);
}

std::string PairingKeys::identity(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (op.name.empty() || (value.given && is_runtime_name(op.name))) return "";
  return key_of(graph_of(op), op.name, op.type, slot_name(value.kind, value.slot), value.element, value.call);
}

std::string PairingKeys::last_original(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (op.originals.empty() || value.given || value.passed) return "";
  return key_of(graph_of(op), op.originals.back().name, value.slot, value.element);
}

std::string PairingKeys::scope(ValueId id) const {
  if (table_.at(id).given || table_.at(id).passed) return "";
  const OpInfo& op = table_.op(id);
  std::string path = module_path(op);
  const bool backward = table_.first_row(id).phase == static_cast<uint8_t>(Phase::kBackward) || op.name.starts_with(kGradients);
  return backward && !path.empty() ? concat("gradient of ", path) : path;
}

std::string PairingKeys::family(const OpInfo& op) {
  std::string type;
  for (const char letter : op.type) {
    if (letter != '_') type += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  const auto* const found = std::ranges::find(kFamilies, std::string_view(type), [](const auto& row) { return row.first; });
  return found == kFamilies.end() ? type : std::string(found->second);
}

std::string PairingKeys::role(ValueId id) const {
  const uint16_t slot = table_.at(id).slot;
  // One op of PyTorch, three of MindSpore: the gradients of input, weight and bias.
  constexpr std::array<std::string_view, 3> kConvGradients = {"conv2dbackpropinput|0", "conv2dbackpropfilter|0", "sum|0"};
  if (table_.op(id).type == "convolution_backward" && slot < kConvGradients.size()) return std::string(kConvGradients[slot]);
  return concat(family(table_.op(id)), "|", slot);
}

std::string PairingKeys::content(ValueId id) const {
  const RecordRow& row = table_.first_row(id);
  if (row.numel < kLeastContent) return "";
  const std::string text = content_digest(table_.dump(), table_.at(id).rows.front());
  return text.empty() ? "" : key_of(text, row.numel, row.dtype);
}

std::string PairingKeys::statistics(ValueId id) const {
  const std::optional<Magnitudes> known = magnitudes(id);
  if (!known || known->numel < kLeastStatistics) return "";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1e %.1e", known->l2, known->absmax);
  return key_of(known->numel, std::string_view(text.data()));
}

std::optional<Magnitudes> PairingKeys::magnitudes(ValueId id) const {
  const RecordRow& row = table_.first_row(id);
  constexpr uint32_t kNeeded = kStatL2 | kStatAbsMax;
  TensorStats stats = row.stats;
  // Trees of tensors alone have none.
  if ((stats.valid & kNeeded) != kNeeded && (row.flags & kRecordHasData) != 0) {
    const Result<RecordData> data = table_.dump().data(table_.at(id).rows.front());
    if (data.ok()) stats = compute_stats(data->view, {});
  }
  if ((stats.valid & kNeeded) != kNeeded || !(stats.l2 > 0)) return std::nullopt;
  return Magnitudes{row.numel, stats.l2, stats.absmax};
}

bool PairingKeys::hands_on(const OpInfo& op) { return std::ranges::find(kHandsOn, op.type) != kHandsOn.end(); }

}  // namespace tensortap
