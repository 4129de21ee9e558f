// The native config: one row per key, each with its way to read and to write.

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_keys.h"
#include "plan/spec_reader.h"
#include "plan/spec_values.h"

namespace tensortap {
namespace {

struct KeyRow {
  ConfigKey key;
  Status (*read)(const SpecValue& value, CaptureSpec& spec);
  Json (*write)(const CaptureSpec& spec);
};

using Value = const SpecValue&;
using Spec = CaptureSpec&;
using Written = const CaptureSpec&;

constexpr std::array kRows = {
    KeyRow{{"", "tensortap", "whole number", "1", "1", "Version of this config language; marks the file as ours."},
           spec_values::read_version,
           [](Written) -> Json { return spec_values::kConfigVersion; }},
    KeyRow{{"", "include", "list of selectors", "any", "[]", "The ops to capture: those that any of the selectors picks; none = every op."},
           [](Value v, Spec s) { return read_selectors(v, false, s.include); },
           [](Written s) { return selectors_to_json(s.include); }},
    KeyRow{{"", "exclude", "list of selectors", "any", "[]", "Ops, or single slots of them, to leave out of what `include` picks."},
           [](Value v, Spec s) { return read_selectors(v, true, s.exclude); },
           [](Written s) { return selectors_to_json(s.exclude); }},
    KeyRow{{"", "keep_for_readers", "true or false", "", "false",
            "Whether outputs that `slots` of an exclusion leave out are kept all the same for the picked ops that read them."},
           [](Value v, Spec s) { return v.read_bool(s.keep_for_readers); },
           [](Written s) -> Json { return s.keep_for_readers; }},
    KeyRow{{"", "devices", "list of numbers", "from 0 to 2^53", "[]",
            "Only processes on these devices capture, by their local rank (`LOCAL_RANK`); none = all."},
           spec_values::read_devices,
           [](Written s) -> Json { return s.devices; }},
    KeyRow{{"", "steps", "text or whole number", "numbers and ranges from 0, or \"all\"", "\"all\"",
            "The steps to capture, such as \"0,3-5,10-\"."},
           spec_values::read_steps,
           [](Written s) -> Json { return s.steps.to_text(); }},
    KeyRow{{"", "first_step", "whole number", "from 0 to 2^53", "0", "The number that the first step has."},
           spec_values::read_first_step,
           [](Written s) -> Json { return s.first_step; }},
    KeyRow{
        {"", "step_at", "text", "a regular expression", "\"\"",
         "Of PyTorch programs: each call of a module whose path or class matches begins a step; empty = an optimizer's steps, or calls of "
         "a model."},
        spec_values::read_step_at,
        [](Written s) -> Json { return s.step_at; }},
    KeyRow{{"", "slots", "list of texts", "\"in\", \"out\"", "[\"out\"]", "Whether inputs or outputs of an op are kept, or both."},
           spec_values::read_slots,
           spec_values::slots_to_json},
    KeyRow{{"", "moment", "text", "\"after\", \"before\", \"both\", \"in-before-out-after\"", "\"after\"",
            "When an op's tensors are looked at: after it ran, before, both, or inputs before and outputs after."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kMomentWords, s.moment); },
           [](Written s) -> Json { return std::string(moment_choice_name(s.moment)); }},
    KeyRow{{"", "payload", "text", "\"description\", \"statistics\", \"tensor\", \"full\"", "\"statistics\"",
            "What is kept of a tensor: dtype and shape only, statistics too, its data, or both."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kPayloadWords, s.payload); },
           [](Written s) -> Json { return std::string(payload_name(s.payload)); }},
    KeyRow{{"", "stats", "list of texts", "names of statistics, \"minimal\", \"all\"", "[]",
            "The statistics to compute; none = all but mean_abs and subnormal."},
           spec_values::read_stats,
           spec_values::stats_to_json},
    KeyRow{{"", "non_finite", "text", "\"skip-nan\", \"propagate\", \"skip-nonfinite\"", "\"skip-nan\"",
            "Which values enter min, max, mean, std, L2 and absmax when NaN or Inf is present."},
           [](Value v, Spec s) { return spec_values::read_word(v, kNonFiniteWords, s.non_finite); },
           [](Written s) -> Json { return s.non_finite; }},
    KeyRow{{"", "digest", "text", "\"none\", \"xxh3\", \"md5\", \"sha1\"", "\"none\"",
            "A digest of each tensor's bytes, to compare without keeping them."},
           [](Value v, Spec s) { return spec_values::read_word(v, kDigestWords, s.digest); },
           [](Written s) -> Json { return s.digest; }},
    KeyRow{{"", "histogram", "true or false", "", "false", "Whether values are counted by binary exponent, for headroom and quantiles."},
           [](Value v, Spec s) { return v.read_bool(s.histogram); },
           [](Written s) -> Json { return s.histogram; }},
    KeyRow{{"", "sketch.channels", "whole number or null", "from -32 to 31", "null",
            "Absmax, sum of squares and zeros of each channel along this axis; -1 is the last one, null = none."},
           spec_values::read_sketch_axis,
           [](Written s) -> Json { return s.sketch_axis ? Json(*s.sketch_axis) : Json(); }},
    KeyRow{{"", "sketch.blocks", "whole number", "0, 16, 32, 128", "0",
            "What block scaling would lose: counts of blocks of so many elements along the last axis; 0 = none."},
           spec_values::read_sketch_block,
           [](Written s) -> Json { return s.sketch_block; }},
    KeyRow{{"", "plain_order", "true or false", "", "true",
            "Whether tensors that are in blocks of channels, or channels last, are put back into the order of their shape."},
           [](Value v, Spec s) { return v.read_bool(s.plain_order); },
           [](Written s) -> Json { return s.plain_order; }},
    KeyRow{
        {"", "levels", "list of texts", "\"op\", \"kernel\", \"api\", \"module\", \"model\"", "[\"op\"]",
         "What is captured: ops, the kernels that they call underneath, what the program itself calls, calls of modules and of models, or "
         "several of these."},
        spec_values::read_levels,
        [](Written s) -> Json { return s.levels; }},
    KeyRow{{"", "trigger", "text", "\"always\", \"overflow\", \"exception\", \"watch\", \"on-request\"", "\"always\"",
            "What makes a record be kept: always; NaN or Inf in an op's outputs; failing ops; ops while the program asks for "
            "them; ops after whose watchers their outputs are looked at again."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kTriggerWords, s.trigger); },
           [](Written s) -> Json { return std::string(trigger_name(s.trigger)); }},
    KeyRow{{"", "overflow_ops", "text", "\"makers\", \"all\"", "\"makers\"",
            "With the trigger \"overflow\": keep the ops that make NaN or Inf of finite inputs, or all ops that have NaN or Inf in an "
            "output."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kOverflowOpsWords, s.overflow_ops); },
           [](Written s) -> Json { return std::string(overflow_ops_name(s.overflow_ops)); }},
    KeyRow{{"", "watchers", "list of selectors", "any", "[]",
            "With the trigger \"watch\": after each of these ops the picked ops' outputs are looked at again; none = after every op."},
           [](Value v, Spec s) { return read_selectors(v, false, s.watchers); },
           [](Written s) { return selectors_to_json(s.watchers); }},
    KeyRow{{"", "exception_detail", "text", "\"brief\", \"norm\", \"detail\"", "\"norm\"",
            "What a failing op leaves: its inputs; their types and shapes and its attributes too; registers and call stack too."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kExceptionDetailWords, s.exception_detail); },
           [](Written s) -> Json { return std::string(exception_detail_name(s.exception_detail)); }},
    KeyRow{{"", "model_ops", "true or false", "", "true", "Whether ops that belong to a model are captured."},
           [](Value v, Spec s) { return v.read_bool(s.model_ops); },
           [](Written s) -> Json { return s.model_ops; }},
    KeyRow{{"", "single_ops", "true or false", "", "true", "Whether ops that are called by themselves, outside every model, are captured."},
           [](Value v, Spec s) { return v.read_bool(s.single_ops); },
           [](Written s) -> Json { return s.single_ops; }},
    KeyRow{{"", "where", "text", "an expression, below", "\"\"", "Keep a record only if this holds for it; empty = always."},
           spec_values::read_where,
           [](Written s) -> Json { return s.where; }},
    KeyRow{{"", "sampling.elements", "whole number", "from 0 to 2^53", "0",
            "Compute statistics from about this many elements of each tensor; 0 = all."},
           [](Value v, Spec s) { return v.read_whole(s.sampling.elements, 0, spec_values::kMostCount); },
           [](Written s) -> Json { return s.sampling.elements; }},
    KeyRow{{"", "sampling.head", "whole number", "from 0 to 2^53", "0",
            "Reduce tensors of more elements to their first ones, this many, as a tensor of one dimension; 0 = whole tensors."},
           [](Value v, Spec s) { return v.read_whole(s.sampling.head, 0, spec_values::kMostCount); },
           [](Written s) -> Json { return s.sampling.head; }},
    KeyRow{
        {"", "device.stats", "text", "\"auto\", \"host\", \"wait\", \"off\", \"operators\", \"kernel\"", "\"auto\"",
         "How tensors on devices such as GPUs are looked into: as copies in host memory, for which the program waits only where a record "
         "would be lost, never or always; or not at all; or by operators of the device, or by a kernel, which compute the statistics "
         "there."},
        [](Value v, Spec s) { return spec_values::read_enum(v, kDeviceStatsWords, s.device_stats); },
        [](Written s) -> Json { return std::string(kDeviceStatsWords[static_cast<size_t>(s.device_stats)]); }},
    KeyRow{{"", "limits.max_bytes", "bytes", "from 0", "0", "Most bytes of the dump on the disk; 0 = no limit."},
           spec_values::read_max_bytes,
           [](Written s) -> Json { return s.limits.max_bytes; }},
    KeyRow{{"", "limits.keep_free", "bytes or null", "from 0", "null",
            "Bytes to leave free on the disk; null = 2147483648 for tensors, and 67108864 for rows and statistics."},
           spec_values::read_keep_free,
           [](Written s) -> Json { return s.limits.keep_free ? Json(*s.limits.keep_free) : Json(nullptr); }},
    KeyRow{{"", "limits.stop_after", "whole number or null", "from 1 to 2^53", "null",
            "Capture this many steps, then no more; null = no limit."},
           spec_values::read_stop_after,
           [](Written s) -> Json { return s.limits.stop_after < 0 ? Json(nullptr) : Json(s.limits.stop_after); }},
    KeyRow{{"", "limits.max_records", "whole number", "from 0 to 2^53", "0", "Most records of the dump; 0 = no limit."},
           [](Value v, Spec s) { return v.read_whole(s.limits.max_records, 0, spec_values::kMostCount); },
           [](Written s) -> Json { return s.limits.max_records; }},
    KeyRow{{"", "limits.max_triggers", "whole number", "from 0 to 2^53", "0", "Most ops that the trigger lets through; 0 = no limit."},
           [](Value v, Spec s) { return v.read_whole(s.limits.max_triggers, 0, spec_values::kMostCount); },
           [](Written s) -> Json { return s.limits.max_triggers; }},
    KeyRow{{"", "limits.ring_ops", "whole number", "from 0 to 2^53", "0",
            "The tensors of the last ops, this many, are written when the trigger fires; 0 = none."},
           [](Value v, Spec s) { return v.read_whole(s.limits.ring_ops, 0, spec_values::kMostCount); },
           [](Written s) -> Json { return s.limits.ring_ops; }},
    KeyRow{{"", "limits.pool_bytes", "bytes", "from 65536", "268435456", "Memory for tensors that wait to be written."},
           spec_values::read_pool_bytes,
           [](Written s) -> Json { return s.limits.pool_bytes; }},
    KeyRow{{"", "extras.weights", "true or false", "", "true", "Whether weights are captured, once when the model is loaded."},
           [](Value v, Spec s) { return v.read_bool(s.extras.weights); },
           [](Written s) -> Json { return s.extras.weights; }},
    KeyRow{{"", "extras.graph_inputs", "true or false", "", "true", "Whether the inputs of the whole graph are captured, once per step."},
           [](Value v, Spec s) { return v.read_bool(s.extras.graph_inputs); },
           [](Written s) -> Json { return s.extras.graph_inputs; }},
    KeyRow{{"", "extras.graphs", "true or false", "true where the layout writes it", "false", "Whether the executed graphs are written."},
           [](Value v, Spec s) { return v.read_bool(s.extras.graphs); },
           [](Written s) -> Json { return s.extras.graphs; }},
    KeyRow{{"", "extras.execution_order", "true or false", "true where the layout writes it", "false",
            "Whether the order of execution is written as a file."},
           [](Value v, Spec s) { return v.read_bool(s.extras.execution_order); },
           [](Written s) -> Json { return s.extras.execution_order; }},
    KeyRow{
        {"", "extras.attributes", "true or false", "", "false", "Whether attributes of ops are wanted; the native layout always has them."},
        [](Value v, Spec s) { return v.read_bool(s.extras.attributes); },
        [](Written s) -> Json { return s.extras.attributes; }},
    KeyRow{{"", "extras.constants", "true or false", "true where the layout writes it", "false",
            "Whether constants inside the graph are written as files."},
           [](Value v, Spec s) { return v.read_bool(s.extras.constants); },
           [](Written s) -> Json { return s.extras.constants; }},
    KeyRow{{"", "extras.topology", "true or false", "true where the layout writes it", "false",
            "Whether the tree of operations is written as a file."},
           [](Value v, Spec s) { return v.read_bool(s.extras.topology); },
           [](Written s) -> Json { return s.extras.topology; }},
    KeyRow{{"", "extras.read_inputs", "true or false", "", "false",
            "Whether inputs of the whole graph are captured with a picked op that reads them."},
           [](Value v, Spec s) { return v.read_bool(s.extras.read_inputs); },
           [](Written s) -> Json { return s.extras.read_inputs; }},
    KeyRow{{"", "follow.path", "text", "a path", "\"\"",
            "A config in the language of `dialect` that selects ops, steps and devices, also when it changes later; empty "
            "= none."},
           [](Value v, Spec s) { return v.read_text(s.follow.path); },
           [](Written s) -> Json { return s.follow.path; }},
    KeyRow{{"", "follow.over", "text", "a JSON object", "\"\"", "Members that are laid over those of that config."},
           [](Value v, Spec s) { return v.read_text(s.follow.over); },
           [](Written s) -> Json { return s.follow.over; }},
    KeyRow{{"", "budget", "number or text", "0 to 1, or \"3%\"", "0", "The most that the program may slow down; 0 = no governor."},
           spec_values::read_budget,
           [](Written s) -> Json { return s.budget; }},
    KeyRow{{"", "full_policy", "text", "\"block\", \"stats-only\", \"drop\"", "\"block\"",
            "When the memory for waiting tensors is full: wait, keep statistics only, or drop the record. Each is counted."},
           [](Value v, Spec s) { return spec_values::read_enum(v, kFullPolicyWords, s.full_policy); },
           [](Written s) -> Json { return std::string(full_policy_name(s.full_policy)); }},
    KeyRow{{"", "idle", "true or false", "", "false",
            "Whether nothing is captured until `tensortap set` selects something (docs/live_control.md)."},
           [](Value v, Spec s) { return v.read_bool(s.idle); },
           [](Written s) -> Json { return s.idle; }},
    KeyRow{{"", "strict", "true or false", "", "false", "Whether it is a failure when an op that was asked for was not captured."},
           [](Value v, Spec s) { return v.read_bool(s.strict); },
           [](Written s) -> Json { return s.strict; }},
    KeyRow{{"", "layout", "text", "tap, ge or mindspore", "\"tap\"", "The directory tree to write."},
           spec_values::read_layout,
           [](Written s) -> Json { return s.layout; }},
    KeyRow{{"", "profile", "text", "a profile of the layout", "\"\"",
            "Which system's version the tree follows, such as \"mindspore-2.10/cpu\"."},
           [](Value v, Spec s) { return v.read_text(s.profile); },
           [](Written s) -> Json { return s.profile; }},
    KeyRow{{"", "out", "text", "a path", "\"\"", "The folder of the dump, new or empty; \"\" = tensortap_dump/TIME."},
           spec_values::read_out,
           [](Written s) -> Json { return s.out; }},
    KeyRow{
        {"", "mode", "text", "\"private\", \"shared\"", "\"private\"",
         "Who may use the dump: its owner alone (folders 0700, files 0600, or what the layout's own system has), or whom the umask lets."},
        [](Value v, Spec s) { return spec_values::read_enum(v, kAccessWords, s.access); },
        [](Written s) -> Json { return std::string(access_name(s.access)); }},
    KeyRow{{"", "dialect", "text", "not empty", "\"tensortap\"", "The language in which the capture was first asked for, for messages."},
           spec_values::read_dialect,
           [](Written s) -> Json { return s.dialect; }},
    KeyRow{{"", "layout_options", "object of texts", "what the layout understands", "{}", "What only one layout understands."},
           spec_values::read_layout_options,
           [](Written s) -> Json { return s.layout_options.empty() ? Json::object() : Json(s.layout_options); }},
};

constexpr auto kKeys = [] {
  std::array<ConfigKey, kRows.size()> keys{};
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = kRows[i].key;
  return keys;
}();

bool is_group(std::string_view key) {
  return std::ranges::any_of(kKeys, [&](const ConfigKey& row) {
    return row.name.size() > key.size() && row.name.starts_with(key) && row.name[key.size()] == '.';
  });
}

Status unknown_key(const SpecValue& value, const std::string& group, const std::string& key) {
  std::vector<std::string> known;
  for (const ConfigKey& row : kKeys) {
    const std::string_view name = row.name;
    const size_t dot = name.find('.');
    if (group.empty()) {
      known.emplace_back(name.substr(0, dot));
    } else if (name.starts_with(group)) {
      known.emplace_back(name.substr(group.size()));
    }
  }
  return value.error(concat("unknown key.", did_you_mean(key, known), " docs/capture_config.md lists all"));
}

// Reads the members of the config, or of one of its groups ("limits.").
Status read_members(const SpecValue& value, const std::string& group, CaptureSpec& spec) {
  for (const auto& [key, unused] : value.json().items()) {
    const SpecValue member = value.member(key);
    const auto row = std::ranges::find(kRows, group + key, [](const KeyRow& candidate) { return candidate.key.name; });
    // A dot inside a key is no way into a group.
    if (row != kRows.end() && key.find('.') == std::string::npos) {
      TENSORTAP_RETURN_IF_ERROR(row->read(member, spec));
    } else if (group.empty() && is_group(key)) {
      if (!member.json().is_object()) return member.wrong_type("an object");
      TENSORTAP_RETURN_IF_ERROR(read_members(member, key + ".", spec));
    } else {
      return unknown_key(member, group, key);
    }
  }
  return {};
}

}  // namespace

std::span<const ConfigKey> spec_keys() { return kKeys; }

Json spec_to_json(const CaptureSpec& spec) {
  Json json = Json::object();
  for (const KeyRow& row : kRows) {
    const size_t dot = row.key.name.find('.');
    const std::string key(row.key.name.substr(0, dot));
    if (dot == std::string_view::npos) {
      json[key] = row.write(spec);
    } else {
      json[key][std::string(row.key.name.substr(dot + 1))] = row.write(spec);
    }
  }
  return json;
}

Result<CaptureSpec> spec_from_json(std::string_view text, std::string_view name) {
  CaptureSpec spec;
  if (trim(text).empty()) return spec;
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text, name));
  const SpecValue value(json, text, name);
  if (!json.is_object()) return value.wrong_type("an object such as {\"steps\": \"0\"}");
  TENSORTAP_RETURN_IF_ERROR(read_members(value, "", spec));
  return spec;
}

}  // namespace tensortap
