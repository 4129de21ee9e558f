#include "trace/op_info.h"

#include <array>

#include "base/json.h"

namespace tensortap {
namespace {

template <size_t N, class Enum>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view model_phase_name(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::kPrefill:
      return "prefill";
    case ModelPhase::kDecode:
      return "decode";
    case ModelPhase::kTrain:
      return "train";
    case ModelPhase::kWarmUp:
      return "warm-up";
    case ModelPhase::kNone:
      break;
  }
  return "";
}

std::string_view phase_name(Phase phase) {
  static constexpr std::array<std::string_view, 5> kNames = {"inference", "forward", "backward", "update", "load"};
  return name_of(kNames, phase);
}

std::string_view moment_name(Moment moment) {
  static constexpr std::array<std::string_view, 2> kNames = {"after", "before"};
  return name_of(kNames, moment);
}

std::string_view level_name(Level level) {
  static constexpr std::array<std::string_view, 5> kNames = {"op", "kernel", "module", "model", "api"};
  return name_of(kNames, level);
}

// Most ops have none of these: the text is looked through before it is read.
Json attribute_json(const OpInfo& op, std::string_view name) {
  if (op.attributes.find(name) == std::string::npos) return nullptr;
  const Result<Json> attributes = parse_json(op.attributes, "");
  if (!attributes.ok() || !attributes->is_object()) return nullptr;
  const auto found = attributes->find(name);
  return found == attributes->end() ? Json(nullptr) : *found;
}

bool attribute_is_set(const OpInfo& op, std::string_view name) { return attribute_json(op, name) == Json(true); }

bool has_attribute(const OpInfo& op, std::string_view name) { return !attribute_json(op, name).is_null(); }

uint64_t attribute_slots(const OpInfo& op, std::string_view name) {
  const Json value = attribute_json(op, name);
  uint64_t slots = 0;
  if (!value.is_array()) return slots;
  for (const Json& slot : value) {
    if (slot.is_number_unsigned() && slot.get<uint64_t>() < 64) slots |= uint64_t{1} << slot.get<uint64_t>();
  }
  return slots;
}

std::string attribute_text(const OpInfo& op, std::string_view name) {
  const Json value = attribute_json(op, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace tensortap
