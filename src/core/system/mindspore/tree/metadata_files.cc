#include "system/mindspore/tree/metadata_files.h"

#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/names.h"
#include "trace/scoped_name.h"

namespace tensortap::mindspore {
namespace {

// The selectors that have a form in MindSpore's list of kernels; "" for others.
std::string kernel_text(const OpSelector& selector) {
  switch (selector.kind) {
    case OpSelector::Kind::kName:
    case OpSelector::Kind::kType:
    case OpSelector::Kind::kTypeSubstring:
      return selector.text;
    case OpSelector::Kind::kNameFullRegex:
      return concat("name-regex(", selector.text, ")");
    default:
      return "";
  }
}

std::string_view saved_data_text(Payload payload) {
  if (payload == Payload::kFull) return "full";
  return payload == Payload::kTensor ? "tensor" : "statistic";
}

int input_output(const CaptureSpec& spec) {
  if (spec.inputs && spec.outputs) return 0;
  return spec.inputs ? 1 : 2;
}

// As Python, and so MindSpore, writes a value that is no container.
std::string value_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return to_json_text(value);
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(value_text(part));
  return concat("(", join(parts, ", "), ")");
}

std::string hex_text(uint64_t number) {
  std::array<char, 16> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return concat("0x", std::string_view(digits.data(), static_cast<size_t>(end.ptr - digits.data())));
}

nlohmann::json place_json(const OverflowPlace& place) {
  return {{"model_id", place.model_id},   {"stream_id", place.stream_id},         {"task_id", place.task_id},
          {"task_type", place.task_type}, {"pc_start", hex_text(place.pc_start)}, {"para_base", hex_text(place.para_base)},
          {"status", place.status}};
}

}  // namespace

std::string iteration_text(const StepSet& steps) {
  if (steps.is_all()) return "all";
  std::string text = steps.to_text();
  for (char& c : text) c = c == ',' ? '|' : c;
  // The format has no open end.
  if (text.ends_with('-')) text += to_text(std::numeric_limits<uint32_t>::max());
  return text;
}

std::string minimal_config_text(const CaptureSpec& spec, std::string_view net, std::string_view categories) {
  Json kernels = Json::array();
  for (const OpSelector& selector : spec.include) {
    if (std::string text = kernel_text(selector); !text.empty()) kernels.push_back(std::move(text));
  }
  const bool some = !kernels.empty();
  Json common = {{"dump_mode", some ? 1 : 0},
                 {"path", spec.out},
                 {"net_name", net},
                 {"iteration", iteration_text(spec.steps)},
                 {"saved_data", saved_data_text(spec.payload)},
                 {"input_output", input_output(spec)},
                 {"kernels", std::move(kernels)},
                 {"support_device", {0, 1, 2, 3, 4, 5, 6, 7}},
                 {"op_debug_mode", 0}};
  if (spec.payload != Payload::kTensor) {
    Json items = Json::array();
    for (const std::string_view category : split(categories, ',')) {
      if (!category.empty()) items.push_back(category);
    }
    common["statistic_category"] = std::move(items);
  }
  const Json config = {{"common_dump_settings", std::move(common)}, {"e2e_dump_settings", {{"enable", true}, {"trans_flag", true}}}};
  return config.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string device_config_text(const Profile& profile) {
  return to_json_text({{"device_target", profile.device->target}, {"ms_version", profile.tree().ms_version}});
}

std::string execution_order_text(std::span<const GraphOp> ops) {
  std::string text = "NodeExecutionOrder-FullNameWithScope\n";
  for (const GraphOp& op : ops) {
    if (op.info->level != Level::kOp || op.info->type.empty() || is_pseudo_op(*op.info)) continue;
    text += clean_cell(op.scoped_name);
    text += '\n';
  }
  return text;
}

std::string attributes_file_name(std::string_view scoped_name) {
  std::string scope = clean_cell(scoped_name);
  for (char& c : scope) c = c == '/' || c == '.' ? '_' : c;
  return concat(clean_op_type(scoped_name_type(scoped_name)), ".", scope, ".json");
}

std::string attributes_text(std::string_view attributes) {
  const Result<Json> parsed = parse_json(attributes, "attributes");
  if (!parsed.ok() || !parsed->is_object() || parsed->empty()) return "null";
  nlohmann::json texts = nlohmann::json::object();
  for (const auto& [name, value] : parsed->items()) texts[name] = value_text(value);
  return texts.dump(4, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string overflow_file_name(uint64_t task, uint64_t stream, uint64_t time_us, uint32_t number) {
  return concat("Opdebug.Node_OpDebug.", task, ".", stream, ".", time_us, ".output.", number, ".json");
}

std::string overflow_text(const OverflowRecord& record) {
  nlohmann::json core = place_json(record.ai_core);
  core["kernel_code"] = hex_text(record.kernel_code);
  core["block_idx"] = record.block_idx;
  const nlohmann::json all = {{"DHA Atomic Add", place_json(record.dha_atomic_add)},
                              {"L2 Atomic Add", place_json(record.l2_atomic_add)},
                              {"AI Core", std::move(core)}};
  return all.dump();
}

}  // namespace tensortap::mindspore
