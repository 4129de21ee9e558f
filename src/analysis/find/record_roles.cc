#include "find/record_roles.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr std::string_view kActivations[] = {
    "celu", "elu",   "fastgelu", "gelu",  "hardsigmoid", "hardswish", "hsigmoid", "hswish", "leakyrelu", "logsigmoid", "logsoftmax",
    "mish", "prelu", "relu",     "relu6", "reluv2",      "selu",      "sigmoid",  "silu",   "softmax",   "swish",      "tanh"};

bool is_slot(const RecordRow& record, SlotKind kind) { return record.slot_kind == static_cast<uint8_t>(kind); }

}  // namespace

std::string plain_type(std::string_view type) {
  std::string plain = to_lower(type);
  std::erase(plain, '_');
  return plain;
}

bool RecordRoles::is_weight(const RecordRow& record) const {
  return is_slot(record, SlotKind::kWeight) || op_of(dump_, record).type == kInitializerType || facts_.is_parameter(record);
}

bool RecordRoles::is_gradient(const RecordRow& record) const {
  if (is_slot(record, SlotKind::kGradient) || static_cast<Phase>(record.phase) == Phase::kBackward) return true;
  constexpr std::string_view kScope = "gradients/";
  const OpInfo& op = op_of(dump_, record);
  return !is_pseudo_op(op) && to_lower(std::string_view(op.name).substr(0, kScope.size())) == kScope;
}

bool RecordRoles::is_activation(const RecordRow& record) const {
  return !is_gradient(record) && std::ranges::find(kActivations, plain_type(op_of(dump_, record).type)) != std::end(kActivations);
}

}  // namespace tensortap
