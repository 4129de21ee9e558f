#include "compare/pairing_keys.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "stats/digest.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr char kSeparator = '\x1f';
constexpr uint64_t kLeastContent = 5;      // elements
constexpr uint64_t kLeastStatistics = 16;  // elements

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

constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kFamilies = {{
    {"convolution", "conv"},
    {"Conv", "conv"},
    {"FusedConv", "conv"},
    {"native_batch_norm", "batch norm"},
    {"_native_batch_norm_legit_no_training", "batch norm"},
    {"cudnn_batch_norm", "batch norm"},
    {"BatchNormalization", "batch norm"},
    {"native_layer_norm", "layer norm"},
    {"LayerNormalization", "layer norm"},
    {"relu", "relu"},
    {"relu_", "relu"},
    {"Relu", "relu"},
    {"max_pool2d_with_indices", "max pool"},
    {"MaxPool", "max pool"},
    {"view", "reshape"},
    {"_unsafe_view", "reshape"},
    {"Reshape", "reshape"},
    {"Flatten", "reshape"},
    {"unsqueeze", "unsqueeze"},
    {"Unsqueeze", "unsqueeze"},
    {"addmm", "linear"},
    {"mm", "linear"},
    {"bmm", "linear"},
    {"linear", "linear"},
    {"Gemm", "linear"},
    {"MatMul", "linear"},
    {"FusedMatMul", "linear"},
    {"select", "select"},
    {"Gather", "select"},
    {"_softmax", "softmax"},
    {"Softmax", "softmax"},
    {"cat", "concat"},
    {"Concat", "concat"},
    {"permute", "transpose"},
}};

}  // namespace

PairingKeys::PairingKeys(const ValueTable& table) : table_(table), inputs_(table.values().size()), readers_(table.values().size()) {
  for (ValueId id = 0; id < table.values().size(); ++id) {
    if (const std::string_view base = numbered_base(table.name(id)); !base.empty()) numbered_.emplace(base);
    knows_originals_ |= !table.op(id).originals.empty();
    for (const uint32_t row : table.inputs_of(table.at(id).rows.front())) {
      const ValueId input = row == kNoRow ? kNoValue : table.value_of(row);
      if (input != kNoValue) readers_[input].push_back({id, static_cast<uint32_t>(inputs_[id].size())});
      inputs_[id].push_back(input);
    }
  }
}

bool PairingKeys::is_runtime_name(const std::string& name) const { return !numbered_base(name).empty() || numbered_.contains(name); }

std::string PairingKeys::value_name(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (value.kind == SlotKind::kInput || op.inserted_by_runtime) return "";
  // Where authors' nodes are known, what implements none of them was named by the runtime.
  if (knows_originals_ && op.originals.empty() && !value.given) return "";
  std::string name = table_.name(id);
  if (name.empty() && value.given) name = op.name;
  if (name.empty() || is_runtime_name(name)) return "";
  return key_of(op.graph, name, value.element, value.given);
}

std::string PairingKeys::identity(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (op.name.empty() || (value.given && is_runtime_name(op.name))) return "";
  return key_of(op.graph, op.name, op.type, slot_name(value.kind, value.slot), value.element);
}

std::string PairingKeys::last_original(ValueId id) const {
  const Value& value = table_.at(id);
  const OpInfo& op = table_.op(id);
  if (op.originals.empty() || value.given) return "";
  return key_of(op.graph, op.originals.back().name, value.slot, value.element);
}

std::string PairingKeys::scope(ValueId id) const {
  const OpInfo& op = table_.op(id);
  if (table_.at(id).given) return "";
  if (!op.module.empty()) {
    // The first part is the model's class, which an exported graph does not name.
    std::string path;
    const auto parts = split(op.module, '.');
    for (size_t i = 1; i < parts.size(); ++i) path += concat('/', parts[i]);
    return path.empty() ? "/" : path;
  }
  if (!op.name.starts_with('/')) return "";
  const std::string path = op.name.substr(0, op.name.rfind('/'));
  return path.empty() ? "/" : path;
}

std::string_view PairingKeys::family(const OpInfo& op) {
  const auto* const found = std::ranges::find(kFamilies, std::string_view(op.type), [](const auto& row) { return row.first; });
  return found == kFamilies.end() ? std::string_view(op.type) : found->second;
}

std::string PairingKeys::content(ValueId id) const {
  const RecordRow& row = table_.first_row(id);
  if (row.numel < kLeastContent) return "";
  Digest digest;
  if ((row.flags & kRecordHasData) != 0) {
    const Result<RecordData> data = table_.dump().data(table_.at(id).rows.front());
    if (!data.ok()) return "";
    digest = compute_digest(data->view, DigestKind::kXxh3);
  } else {
    digest.kind = static_cast<DigestKind>(row.digest_kind);
    std::ranges::copy(row.digest, digest.bytes.begin());
  }
  const std::string text = digest_text(digest);
  return text.empty() ? "" : key_of(text, row.numel, row.dtype);
}

std::string PairingKeys::statistics(ValueId id) const {
  const RecordRow& row = table_.first_row(id);
  constexpr uint32_t kNeeded = kStatL2 | kStatAbsMax;
  if (row.numel < kLeastStatistics || (row.stats.valid & kNeeded) != kNeeded || !(row.stats.l2 > 0)) return "";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1e %.1e", row.stats.l2, row.stats.absmax);
  return key_of(row.numel, std::string_view(text.data()));
}

}  // namespace tensortap
