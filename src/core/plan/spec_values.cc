#include "plan/spec_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "plan/name_pattern.h"
#include "plan/spec_keys.h"
#include "plan/where.h"
#include "tensor/statistics.h"
#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"

namespace tensortap::spec_values {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 62;
constexpr std::array<std::string_view, 2> kSlots = {"in", "out"};
constexpr std::array<std::string_view, 5> kLevels = {"op", "kernel", "module", "model", "api"};

}  // namespace

Status read_word(const SpecValue& value, std::span<const std::string_view> names, std::string& target) {
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(names, index));
  target = names[index];
  return {};
}

Status read_version(const SpecValue& value, CaptureSpec& /*spec*/) {
  uint64_t version = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(version, 0, kMostCount));
  if (version != kConfigVersion) return value.error(concat("this release reads version ", kConfigVersion, " of the config, not ", version));
  return {};
}

Status read_steps(const SpecValue& value, CaptureSpec& spec) {
  if (value.json().is_number()) {
    uint64_t step = 0;
    TENSORTAP_RETURN_IF_ERROR(value.read_whole(step, 0, kMostCount));
    spec.steps = StepSet();
    spec.steps.add(static_cast<int64_t>(step), static_cast<int64_t>(step));
    return {};
  }
  if (!value.json().is_string()) return value.wrong_type("a text such as \"0,3-5,10-\" or a whole number");
  const Result<StepSet> steps = StepSet::parse(value.json().get<std::string>());
  if (!steps.ok()) return value.error(steps.status().message());
  spec.steps = *steps;
  return {};
}

Status read_slots(const SpecValue& value, CaptureSpec& spec) {
  if (!value.json().is_array()) return value.wrong_type("a list of \"in\" and \"out\"");
  bool chosen[2] = {false, false};
  for (size_t i = 0; i < value.json().size(); ++i) {
    size_t index = 0;
    TENSORTAP_RETURN_IF_ERROR(value.element(i).read_choice(kSlots, index));
    chosen[index] = true;
  }
  if (!chosen[0] && !chosen[1]) return value.error("chooses no slot, so nothing would be captured; list \"in\", \"out\" or both");
  spec.inputs = chosen[0];
  spec.outputs = chosen[1];
  return {};
}

Status read_sketch_axis(const SpecValue& value, CaptureSpec& spec) {
  spec.sketch_axis.reset();
  if (value.json().is_null()) return {};
  if (!value.json().is_number_integer()) return value.wrong_type(concat("an axis from ", -kMaxRank, " to ", kMaxRank - 1));
  const bool large = value.json().is_number_unsigned() && value.json().get<uint64_t>() >= kMaxRank;
  const int64_t axis = large ? kMaxRank : value.json().get<int64_t>();
  if (axis < -kMaxRank || axis >= kMaxRank) return value.error(concat("must be an axis from ", -kMaxRank, " to ", kMaxRank - 1));
  spec.sketch_axis = static_cast<int32_t>(axis);
  return {};
}

Status read_sketch_block(const SpecValue& value, CaptureSpec& spec) {
  uint64_t block = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(block, 0, kSketchBlocks.back()));
  if (block != 0 && std::ranges::find(kSketchBlocks, block) == kSketchBlocks.end())
    return value.error(concat("must be 16, 32 or 128 elements, or 0 for none, not ", block));
  spec.sketch_block = static_cast<uint32_t>(block);
  return {};
}

Status read_devices(const SpecValue& value, CaptureSpec& spec) {
  if (!value.json().is_array()) return value.wrong_type("a list of device numbers");
  spec.devices.resize(value.json().size());
  for (size_t i = 0; i < spec.devices.size(); ++i) TENSORTAP_RETURN_IF_ERROR(value.element(i).read_whole(spec.devices[i], 0, kMostCount));
  return {};
}

Status read_stats(const SpecValue& value, CaptureSpec& spec) {
  std::vector<std::string> names;
  TENSORTAP_RETURN_IF_ERROR(value.read_texts(names));
  uint32_t stats = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!stat_from_name(names[i], stats)) return value.element(i).error(no_statistic_text(names[i]));
  }
  spec.stats = stats;
  return {};
}

Status read_levels(const SpecValue& value, CaptureSpec& spec) {
  std::vector<std::string> levels;
  TENSORTAP_RETURN_IF_ERROR(value.read_texts(levels));
  if (levels.empty()) return value.error("chooses no level; list \"op\"");
  for (size_t i = 0; i < levels.size(); ++i) {
    size_t index = 0;
    TENSORTAP_RETURN_IF_ERROR(value.element(i).read_choice(kLevels, index));
  }
  spec.levels = std::move(levels);
  return {};
}

Status read_where(const SpecValue& value, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(spec.where));
  if (spec.where.empty()) return {};
  const auto parsed = WhereExpression::parse(spec.where);
  return parsed.ok() ? Status() : value.error(parsed.status().message());
}

Status read_step_at(const SpecValue& value, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(spec.step_at));
  if (spec.step_at.empty()) return {};
  const auto pattern = NamePattern::compile(spec.step_at);
  return pattern.ok() ? Status() : value.error(pattern.status().message());
}

Status read_first_step(const SpecValue& value, CaptureSpec& spec) {
  uint64_t step = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(step, 0, kMostCount));
  spec.first_step = static_cast<int64_t>(step);
  return {};
}

Status read_stop_after(const SpecValue& value, CaptureSpec& spec) {
  if (value.json().is_null()) {
    spec.limits.stop_after = -1;
    return {};
  }
  uint64_t steps = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(steps, 1, kMostCount));
  spec.limits.stop_after = static_cast<int64_t>(steps);
  return {};
}

Status read_max_bytes(const SpecValue& value, CaptureSpec& spec) { return value.read_bytes(spec.limits.max_bytes); }

Status read_keep_free(const SpecValue& value, CaptureSpec& spec) {
  spec.limits.keep_free.reset();
  return value.json().is_null() ? Status() : value.read_bytes(spec.limits.keep_free.emplace());
}

Status read_pool_bytes(const SpecValue& value, CaptureSpec& spec) {
  uint64_t bytes = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_bytes(bytes));
  if (bytes < 65536 || bytes > kMostBytes) return value.error("must be at least 64 KiB, so that one tensor can wait to be written");
  spec.limits.pool_bytes = bytes;
  return {};
}

Status read_budget(const SpecValue& value, CaptureSpec& spec) {
  double budget = 0;
  if (value.json().is_number()) {
    budget = value.json().get<double>();
  } else {
    if (!value.json().is_string()) return value.wrong_type("a share such as 0.03 or a text such as \"3%\"");
    const auto text = value.json().get<std::string>();
    if (!text.ends_with('%') || !parse_number(trim(std::string_view(text).substr(0, text.size() - 1)), budget)) {
      return value.error(concat(quote(text), " is not a share; write \"3%\" or 0.03"));
    }
    budget /= 100;
  }
  if (!(budget >= 0 && budget <= 1))
    return value.error(concat(value.json().dump(), " is out of range; write a share from 0 (no governor) to 1, or \"3%\""));
  spec.budget = budget;
  return {};
}

Status read_layout(const SpecValue& value, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(spec.layout));
  return spec.layout.empty() ? value.error("must not be empty; the native layout is \"tap\"") : Status();
}

Status read_out(const SpecValue& value, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(spec.out));
  return spec.out.find('\0') == std::string::npos ? Status() : value.error("holds a zero byte, which no path can");
}

Status read_dialect(const SpecValue& value, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(spec.dialect));
  return spec.dialect.empty() ? value.error("must not be empty") : Status();
}

Status read_layout_options(const SpecValue& value, CaptureSpec& spec) {
  if (!value.json().is_object()) return value.wrong_type("an object of texts");
  std::map<std::string, std::string> options;
  for (const auto& [key, unused] : value.json().items()) TENSORTAP_RETURN_IF_ERROR(value.member(key).read_text(options[key]));
  spec.layout_options = std::move(options);
  return {};
}

Json stats_to_json(const CaptureSpec& spec) {
  Json names = Json::array();
  for (const Statistic& statistic : kStatisticTable) {
    if ((spec.stats & statistic.bit) != 0) names.push_back(std::string(statistic.name));
  }
  return names;
}

Json slots_to_json(const CaptureSpec& spec) {
  Json slots = Json::array();
  if (spec.inputs) slots.push_back("in");
  if (spec.outputs) slots.push_back("out");
  return slots;
}

}  // namespace tensortap::spec_values
