#include "system/mindspore/config/settings.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/config/key_values.h"
#include "system/mindspore/statistics.h"

namespace tensortap::mindspore {
namespace {

bool has(Value section, std::string_view key) { return section.json().is_object() && section.json().contains(std::string(key)); }

constexpr std::string_view kGeVariable = "ENABLE_MS_GE_DUMP";
constexpr std::string_view kAclVariable = "MS_ACL_DUMP_CFG_PATH";
constexpr std::string_view kNoGraph = "no effect: it chooses who dumps the graph of an Ascend, and only without e2e_dump_settings";

struct KeyRow {
  ConfigKey key;
  Status (*read)(Value value, Reading& reading);
  Status (*absent)(Value section, Reading& reading) = nullptr;
};

using Into = Reading&;

constexpr std::array kRows = {
    KeyRow{{kE2e, "enable", "true or false", "", "false",
            "False: the asynchronous dump of an Ascend before 2.4. Otherwise without effect: ops are looked at where they run.", "2.0"},
           read_enable},
    KeyRow{{kE2e, "trans_flag", "true or false", "", "true", "Whether data in a device's own layout is turned back into the usual one.",
            "2.0"},
           [](Value v, Into r) { return read_flag(v, r.settings.trans_flag); }},
    KeyRow{{kE2e, "save_kernel_args", "true or false", "", "false", "Whether attributes of ops are written, a JSON file for each op.",
            "2.3.2"},
           [](Value v, Into r) { return read_flag(v, r.settings.save_kernel_args); }},
    KeyRow{{kE2e, "stat_calc_mode", "text", "\"host\", \"device\"", "\"host\"",
            "Where statistics are computed; \"device\", on Ascend, leaves out what devices do not compute.", "2.3.2"},
           read_stat_calc_mode},
    KeyRow{{kE2e, "device_stat_precision_mode", "text", "\"high\", \"low\"", "\"high\"",
            "No effect: the host computes in double precision.", "2.7.0"},
           read_precision},
    KeyRow{{kE2e, "sample_mode", "whole number", "0, 1", "0", "1 reduces large tensors to their first elements.", "2.4"},
           [](Value v, Into r) { return v.read_whole(r.settings.sample_mode, 0, 1); }},
    KeyRow{{kE2e, "sample_num", "whole number", "from 1", "100", "How many elements are kept; read in `sample_mode` 1 only.", "2.4"},
           read_sample_num},
    KeyRow{{kCommon, "dump_mode", "whole number", "0, 1, 2", "",
            "0: every op; 1: the ops of `kernels`; 2: what the program marks with set_dump() (MindSpore: on Ascend).", "2.0"},
           read_dump_mode},
    KeyRow{{kCommon, "path", "text", "absolute; letters, digits, -, _ and /", "\"\"",
            "The folder of the dump; \"\" = debug_dump inside MS_DIAGNOSTIC_DATA_PATH.", "2.0"},
           read_path,
           find_path},
    KeyRow{{kCommon, "net_name", "text", "letters, digits, - and _", "", "Name of the folder of the network.", "2.0"}, read_net_name},
    KeyRow{{kCommon, "iteration", "text", "\"all\", or numbers and ranges joined by bars", "",
            "The iterations to keep, such as 0, 5-8, 100 with bars between; other parts match nothing.", "2.0"},
           read_iteration},
    KeyRow{{kCommon, "input_output", "whole number", "0, 1, 2", "", "0: inputs and outputs; 1: inputs; 2: outputs.", "2.0"},
           [](Value v, Into r) { return v.read_whole(r.settings.input_output, 0, 2); }},
    KeyRow{{kCommon, "kernels", "list", "full names, types, name-regex(...)", "",
            "In `dump_mode` 1 the ops to keep; an empty list keeps every op.", "2.0"},
           read_kernels},
    KeyRow{{kCommon, "support_device", "list of numbers", "any", "",
            "On GPU and Ascend, the devices that dump: a process is on the device of its local rank.", "2.0"},
           read_support_device},
    KeyRow{{kCommon, "op_debug_mode", "whole number", "0 to 4", "0",
            "3 (also 1 and 2): ops with NaN or Inf in an output; 4: the inputs of an op that fails.", "2.0"},
           read_op_debug_mode},
    KeyRow{{kCommon, "file_format", "text", "\"npy\", \"bin\"", "\"bin\"", "Read only for an Ascend without e2e_dump_settings.", "2.0"},
           read_file_format},
    KeyRow{{kCommon, "overflow_number", "whole number", "from 0", "0", "With `op_debug_mode` 3 only: the most ops to keep; 0 = no limit.",
            "2.4"},
           read_overflow_number},
    KeyRow{{kCommon, "saved_data", "text", "\"tensor\", \"statistic\", \"full\"", "\"tensor\"", "What is kept of a tensor; full = both.",
            "2.0"},
           read_saved_data},
    KeyRow{{kCommon, "initial_iteration", "whole number", "from 0", "0", "Number of the first iteration.", "2.6"},
           [](Value v, Into r) { return v.read_whole(r.settings.initial_iteration, 0, kMostNumber); }},
    KeyRow{{kCommon, "statistic_category", "list of texts", "below", "[\"max\", \"min\", \"l2norm\"]",
            "The columns of statistic.csv, in this order.", "2.3.2"},
           read_statistic_category},
};

constexpr auto kKeys = [] {
  std::array<ConfigKey, kRows.size()> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = kRows[i].key;
  return table;
}();

bool is_required(const ConfigKey& key, const Reading& reading) {
  if (key.section == kE2e) return reading.strict && reading.rules().needs_enable && (key.name == "enable" || key.name == "trans_flag");
  return key.default_value.empty() || (key.name == "op_debug_mode" && reading.strict && !reading.settings.e2e);
}

Status check_presence(Value section, std::string_view name, const Reading& reading) {
  for (const KeyRow& row : kRows) {
    if (row.key.section != name || has(section, row.key.name) || !is_required(row.key, reading)) continue;
    const std::string_view form = row.key.values.empty() ? row.key.type : row.key.values;
    return missing(section, row.key.section, row.key.name, concat("is missing; give it (", form, ")"));
  }
  return {};
}

void note_unknown_keys(Value object, const std::vector<std::string>& known, Reading& reading) {
  if (!object.json().is_object()) return;
  for (const auto& [key, unused] : object.json().items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (reading.settings.notes.size() < kMostNotes) {
      reading.note(object.member(key), "unknown key; ignored, as in MindSpore." + did_you_mean(key, known));
    } else {
      ++reading.notes_left_out;  // finding the member and a similar key takes time, too
    }
  }
}

std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> names;
  for (const ConfigKey& key : kKeys) {
    if (key.section == section) names.emplace_back(key.name);
  }
  return names;
}

// The last key of all is read later: its valid values depend on all others.
bool is_last(const KeyRow& row) { return row.key.name == "statistic_category"; }

bool knows(const Release& release, std::string_view since) {
  const auto first = std::ranges::find(releases(), since, &Release::name);
  return first != releases().end() && first->since <= release.since;
}

Status read_row(const KeyRow& row, Value section, Reading& reading) {
  if (!has(section, row.key.name)) return row.absent == nullptr ? Status() : row.absent(section, reading);
  const SpecValue value = section.member(std::string(row.key.name));
  if (knows(reading.release(), row.key.since)) return row.read(value, reading);
  if (reading.strict) {
    reading.note(value, concat("is not known to MindSpore ", reading.release().name, "; ignored, as in that release"));
    return {};
  }
  reading.note(value, concat("is not known to MindSpore ", reading.release().name, "; it is obeyed all the same"));
  return row.read(value, reading);
}

Status read_section(Value section, std::string_view name, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(check_presence(section, name, reading));
  for (const KeyRow& row : kRows) {
    if (row.key.section == name && !is_last(row)) TENSORTAP_RETURN_IF_ERROR(read_row(row, section, reading));
  }
  note_unknown_keys(section, keys_of(name), reading);
  return {};
}

Status read_e2e(Value root, Reading& reading) {
  Settings& settings = reading.settings;
  if (has(root, kE2e)) {
    settings.e2e = true;
    settings.trans_flag = true;
    TENSORTAP_RETURN_IF_ERROR(read_section(root.member(std::string(kE2e)), kE2e, reading));
  }
  if (settings.e2e) return {};
  if (reading.on(DeviceKind::kAscend)) {
    settings.asynchronous = true;
    settings.trans_flag = false;
    return {};
  }
  settings.e2e = true;
  settings.synchronous = false;
  settings.trans_flag = true;
  settings.sample_mode = 0;
  settings.sample_num = Settings().sample_num;
  return {};
}

// Where MindSpore would compute statistics, and which.
Status finish_statistics(Value common, Reading& reading) {
  Settings& settings = reading.settings;
  const bool after_launch = settings.synchronous || settings.op_debug_mode != kOverflow || !reading.rules().overflow_keeps_both;
  settings.device_statistics =
      settings.device_asked && settings.saved_data == "statistic" && reading.on(DeviceKind::kAscend) && after_launch;
  if (!reading.has_statistics()) return {};
  settings.categories = default_categories();
  if (!reading.release().tree.fixed_categories.empty()) {
    settings.categories.clear();
    for (const std::string_view item : split(reading.release().tree.fixed_categories, ',')) settings.categories.emplace_back(item);
  }
  return read_row(kRows.back(), common, reading);
}

void note_repeated(const std::vector<std::string>& repeated, std::string_view name, Reading& reading) {
  const std::set<std::string> once(repeated.begin(), repeated.end());
  for (const std::string& key : once) {
    if (reading.settings.notes.size() == kMostNotes) break;
    reading.settings.notes.push_back(concat(name, ": the key ", quote(key), " occurs twice; the last one counts"));
  }
}

// The variables with which releases up to 2.5 chose who dumps a graph on an Ascend.
void read_variables(Reading& reading) {
  const std::string_view release = reading.release().name;
  Settings& settings = reading.settings;
  if (environment_value(kGeVariable) == "1") {
    if (!reading.rules().ge_variable) {
      settings.notes.push_back(concat(kGeVariable, ": no effect on MindSpore ", release, "; it has been deprecated since 2.6"));
    } else if (!settings.asynchronous) {
      settings.notes.push_back(concat(kGeVariable, ": ", kNoGraph));
    } else {
      settings.graph_dump = GraphDump::kByGraphEngine;
    }
  }
  if (!environment_value(kAclVariable)) return;
  if (!reading.rules().acl_variable) {
    settings.notes.push_back(concat(kAclVariable, ": no effect on MindSpore ", release, "; 2.3.0 to 2.4.9 obey it"));
  } else if (!settings.asynchronous) {
    settings.notes.push_back(concat(kAclVariable, ": ", kNoGraph));
  } else if (settings.graph_dump == GraphDump::kOfRelease) {
    settings.graph_dump = GraphDump::kByAcl;
  }
}

Status read_all(Value root, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(read_e2e(root, reading));
  read_variables(reading);
  if (!has(root, kCommon)) {
    return invalid_argument(
        concat(root.position(), ": ", kCommon, ": is missing; give an object with dump_mode, path, net_name and so on"));
  }
  const SpecValue common = root.member(std::string(kCommon));
  TENSORTAP_RETURN_IF_ERROR(read_section(common, kCommon, reading));
  TENSORTAP_RETURN_IF_ERROR(finish_statistics(common, reading));
  note_unknown_keys(root, {std::string(kE2e), std::string(kCommon)}, reading);
  return {};
}

}  // namespace

std::span<const ConfigKey> keys() { return kKeys; }

Result<Settings> read_settings(std::string_view text, std::string_view name, const Profile& profile, bool strict) {
  std::vector<std::string> repeated;
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text, name, repeated));
  Reading reading{.profile = profile, .strict = strict, .settings = {}};
  note_repeated(repeated, name, reading);
  TENSORTAP_RETURN_IF_ERROR(read_all(SpecValue(json, text, name), reading));
  Settings& settings = reading.settings;
  if (!settings.every_device && settings.devices.empty()) settings.asynchronous = settings.e2e = false;
  if (reading.notes_left_out > 0) settings.notes.push_back(concat("... and ", reading.notes_left_out, " more such notes"));
  return std::move(settings);
}

}  // namespace tensortap::mindspore
