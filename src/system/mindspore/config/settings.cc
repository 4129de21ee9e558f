#include "system/mindspore/config/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/spec_reader.h"
#include "system/mindspore/config/iteration.h"
#include "system/mindspore/statistics.h"

namespace tensortap::mindspore {
namespace {

constexpr size_t kMostNotes = 20;
constexpr uint64_t kMostNumber = uint64_t{1} << 53;
constexpr std::string_view kE2e = "e2e_dump_settings";
constexpr std::string_view kCommon = "common_dump_settings";
constexpr std::array<std::string_view, 3> kSavedData = {"tensor", "statistic", "full"};
constexpr std::array<std::string_view, 2> kPlaces = {"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions = {"high", "low"};
constexpr std::array<std::string_view, 2> kFileFormats = {"npy", "bin"};
// Of a path; without the first one, of a name.
constexpr std::string_view kNameCharacters = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
constexpr uint64_t kOverflow = 3;
constexpr uint64_t kException = 4;

// A config on its way to settings.
struct Reading {
  const Profile& profile;
  bool strict;
  Settings settings;
  size_t notes_left_out = 0;

  [[nodiscard]] const Release& release() const { return *profile.release; }
  [[nodiscard]] const ConfigRules& rules() const { return profile.release->config; }
  [[nodiscard]] bool on(DeviceKind device) const { return profile.device->kind == device; }
  [[nodiscard]] bool has_statistics() const { return settings.saved_data != "tensor"; }
  // A position is found by reading the text from its beginning: for hostile configs there is an end to that.
  void note(const SpecValue& value, std::string_view what) {
    if (settings.notes.size() < kMostNotes) {
      settings.notes.push_back(value.error(what).message());
    } else {
      ++notes_left_out;
    }
  }
};

using Value = const SpecValue&;

bool has(Value section, std::string_view key) { return section.json().is_object() && section.json().contains(std::string(key)); }

// MindSpore's own message calls each of them "enable"; who compares the two should find the word.
Status read_flag(Value value, bool& target) {
  if (!value.json().is_boolean()) return value.wrong_type("true or false, like \"enable\"");
  target = value.json().get<bool>();
  return {};
}

Status read_enable(Value value, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(value.read_bool(reading.settings.synchronous));
  if (reading.strict && reading.rules().enable_false_ends_e2e) reading.settings.e2e = reading.settings.synchronous;
  return {};
}

Status read_stat_calc_mode(Value value, Reading& reading) {
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(kPlaces, index));
  reading.settings.device_asked = index == 1;
  return {};
}

Status read_precision(Value value, Reading& reading) {
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(kPrecisions, index));
  reading.settings.high_precision = index == 0;
  return {};
}

Status read_sample_num(Value value, Reading& reading) {
  if (reading.settings.sample_mode != 1) return {};
  if (!value.json().is_number_unsigned()) return value.error("must be a whole number from 1 on; it counts because sample_mode is 1");
  return value.read_whole(reading.settings.sample_num, 1, kMostNumber);
}

Status read_dump_mode(Value value, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(reading.settings.dump_mode, 0, 2));
  if (reading.settings.dump_mode != 2) return {};
  if (reading.strict && !reading.on(DeviceKind::kAscend)) {
    return value.error(
        "2 keeps what a program marks with set_dump(), which MindSpore has on Ascend only; use 0 for every op, 1 for those of \"kernels\", "
        "or "
        "leave --profile-strict out");
  }
  reading.note(value,
               "2 keeps what the program marks with set_dump(); of a program that marks nothing, such as a model file, nothing is kept");
  return {};
}

// "name:line:column: section.key: what", for a key that is not there.
Status missing(Value section, std::string_view section_name, std::string_view key, std::string_view what) {
  return invalid_argument(concat(section.position(), ": ", section_name, ".", key, ": ", what));
}

// Takes the path, or where there is none the one that the environment gives. Returns what is wrong, "" when nothing is.
std::string choose_path(std::string path, Reading& reading) {
  std::string_view origin;
  if (path.empty()) {
    const auto root = environment_value("MS_DIAGNOSTIC_DATA_PATH");
    if (!root) return "is missing or empty; give the folder of the dump, or set MS_DIAGNOSTIC_DATA_PATH";
    path = *root + "/debug_dump";
    origin = " (from MS_DIAGNOSTIC_DATA_PATH)";
  }
  if (path.find_first_not_of(kNameCharacters) != std::string::npos) {
    return concat(quote(path), origin, " may hold only letters, digits, -, _ and /; choose another folder");
  }
  if (path[0] != '/') return concat(quote(path), origin, " is not absolute; begin it with /");
  reading.settings.path = std::move(path);
  return {};
}

Status read_path(Value value, Reading& reading) {
  std::string path;
  TENSORTAP_RETURN_IF_ERROR(value.read_text(path));
  const std::string fault = choose_path(std::move(path), reading);
  return fault.empty() ? Status() : value.error(fault);
}

Status find_path(Value section, Reading& reading) {
  const std::string fault = choose_path("", reading);
  return fault.empty() ? Status() : missing(section, kCommon, "path", fault);
}

Status read_net_name(Value value, Reading& reading) {
  std::string& name = reading.settings.net_name;
  TENSORTAP_RETURN_IF_ERROR(value.read_text(name));
  if (!name.empty() && name.find_first_not_of(kNameCharacters.substr(1)) == std::string::npos) return {};
  return value.error(concat(quote(name), " must be letters, digits, - and _, at least one; it becomes a folder"));
}

Status read_iteration(Value value, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(value.read_text(reading.settings.iteration));
  if (is_iteration(reading.settings.iteration)) return {};
  return value.error(concat(quote(reading.settings.iteration),
                            " may hold only digits, - and |, without spaces, or be \"all\"; write it like \"0|5-8|100\""));
}

Status read_kernels(Value value, Reading& reading) {
  if (!value.json().is_array()) return value.wrong_type("a list of names, types and name-regex(...)");
  if (reading.settings.dump_mode != 1) return {};
  KernelRules rules;
  if (reading.strict) rules = {reading.rules().kernel_types, reading.rules().kernel_regexes};
  TENSORTAP_ASSIGN_OR_RETURN(reading.settings.kernels, parse_kernels(value, rules));
  if (reading.settings.kernels.selectors.empty()) reading.note(value, "names nothing, so every op is captured, as in MindSpore");
  return {};
}

// The device that an entry means after MindSpore's conversion to a whole number; nothing for one that does not exist.
std::optional<uint64_t> device_of(const Json& entry) {
  constexpr double kMostDevices = 1U << 30U;
  const double number = entry.is_boolean() ? static_cast<double>(entry.get<bool>()) : std::trunc(entry.get<double>());
  return number >= 0 && number < kMostDevices ? std::optional(static_cast<uint64_t>(number)) : std::nullopt;
}

Status read_support_device(Value value, Reading& reading) {
  const Json& list = value.json();
  if (!list.is_array()) return value.wrong_type("a list of device numbers");
  bool repeated = false;
  std::set<std::string> seen;
  std::set<uint64_t> devices;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number() && !list[i].is_boolean()) return value.element(i).wrong_type("a number of a device");
    repeated = !seen.insert(list[i].dump()).second || repeated;
    if (const auto device = device_of(list[i])) devices.insert(*device);
  }
  if (repeated) reading.note(value, "a device stands twice");
  if (reading.on(DeviceKind::kCpu)) return {};
  reading.settings.every_device = false;
  reading.settings.devices.assign(devices.begin(), devices.end());
  if (devices.empty()) {
    reading.note(value, "lists no device, so nothing will be captured; on a CPU the key has no effect");
  } else if (!devices.contains(0)) {
    reading.note(value,
                 "does not list device 0: a program captures nothing unless its LOCAL_RANK is listed; on a CPU the key has no effect");
  }
  return {};
}

Status read_op_debug_mode(Value value, Reading& reading) {
  Settings& settings = reading.settings;
  if (reading.strict && settings.e2e && !reading.rules().e2e_reads_op_debug_mode) {
    reading.note(value, concat("has no effect beside e2e_dump_settings in MindSpore ", reading.release().name));
    return {};
  }
  TENSORTAP_RETURN_IF_ERROR(value.read_whole(settings.op_debug_mode, 0, 4));
  const auto& modes = reading.strict ? reading.rules().op_debug_modes : releases().back().config.op_debug_modes;
  const int8_t counts_as = modes[settings.op_debug_mode];
  if (counts_as == kRefused) {
    return value.error(concat(settings.op_debug_mode, " is not known to MindSpore ", reading.release().name,
                              "; use 0 for no debugging, 3 for overflow or leave --profile-strict out"));
  }
  settings.op_debug_mode = static_cast<uint64_t>(counts_as);
  if (settings.op_debug_mode == kException && settings.e2e) {
    if (settings.iteration != "all") reading.note(value, "4 looks at every iteration; \"iteration\" has no effect");
    if (settings.sample_mode != 0) reading.note(value, "4 keeps whole tensors; \"sample_mode\" has no effect");
    settings.iteration = "all";
    settings.sample_mode = 0;
  }
  if (settings.op_debug_mode != 0 && settings.dump_mode != 0) {
    reading.note(value, concat(settings.op_debug_mode, " looks at every op; \"dump_mode\" and \"kernels\" have no effect"));
    settings.dump_mode = 0;
    settings.kernels = {};
  }
  if (settings.op_debug_mode == kOverflow && reading.rules().overflow_keeps_both) {
    if (settings.input_output != 0) reading.note(value, "3 keeps inputs and outputs; \"input_output\" has no effect");
    settings.input_output = 0;
  }
  return {};
}

Status read_file_format(Value value, Reading& reading) {
  if (reading.settings.e2e) return {};
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(kFileFormats, index));
  reading.settings.npy = index == 0;
  return {};
}

Status read_overflow_number(Value value, Reading& reading) {
  if (reading.settings.op_debug_mode != kOverflow) {
    return value.error("belongs to \"op_debug_mode\": 3 only; leave it out");
  }
  return value.read_whole(reading.settings.overflow_number, 0, kMostNumber);
}

Status read_saved_data(Value value, Reading& reading) {
  Settings& settings = reading.settings;
  std::string asked;
  TENSORTAP_RETURN_IF_ERROR(value.read_text(asked));
  if (settings.e2e && settings.op_debug_mode == kException) {
    if (asked != "tensor") reading.note(value, "\"op_debug_mode\": 4 keeps tensors; \"saved_data\" has no effect");
    return {};
  }
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(kSavedData, index));
  settings.saved_data = std::move(asked);
  if (!reading.strict || !reading.has_statistics()) return {};
  if (reading.on(DeviceKind::kCpu)) {
    return value.error(concat("MindSpore keeps no statistics on a CPU; use \"tensor\", another device, or leave --profile-strict out"));
  }
  if (!reading.on(DeviceKind::kAscend)) return {};
  if (!settings.e2e && !settings.npy) {
    return value.error("keeps statistics on Ascend only with \"file_format\": \"npy\"; add that, or leave --profile-strict out");
  }
  if (settings.e2e && !reading.rules().ascend_e2e_statistics) {
    return value.error(concat("MindSpore ", reading.release().name,
                              " keeps no statistics in a synchronous dump on Ascend; use \"tensor\" or leave --profile-strict out"));
  }
  return {};
}

// The items as the names of their columns; in a device dump only what devices compute.
Status read_items(Value value, Reading& reading, const std::vector<std::string>& items) {
  std::set<std::string> host_only;
  std::vector<std::string>& chosen = reading.settings.categories;
  for (size_t i = 0; i < items.size(); ++i) {
    const Category* category = find_category(items[i]);
    const bool known = category != nullptr && (!category->newest_only || reading.rules().hash_categories);
    if (!known) {
      std::vector<std::string> names;
      for (const Category& row : categories()) {
        if (!row.newest_only || reading.rules().hash_categories) names.emplace_back(row.item);
      }
      return value.element(i).error(
          concat(quote(items[i]), " is no statistic.", did_you_mean(items[i], names), " Take from ", join(names, ", ")));
    }
    if (reading.settings.device_statistics && !category->on_device) {
      host_only.insert(quote(items[i]));
      continue;
    }
    const bool repeated = std::ranges::find(chosen, category->column->word) != chosen.end();
    if (!repeated || reading.rules().repeated_categories) chosen.emplace_back(category->column->word);
  }
  if (!host_only.empty()) {
    const std::vector<std::string> names(host_only.begin(), host_only.end());
    reading.note(value, concat(join(names, ", "), " left out: with \"stat_calc_mode\": \"device\" MindSpore has no such column"));
  }
  return {};
}

Status read_statistic_category(Value value, Reading& reading) {
  if (!reading.has_statistics()) return {};
  if (!reading.rules().fixed_categories.empty()) {
    reading.note(value, concat("has no effect: the statistics of MindSpore ", reading.release().name, " are fixed"));
    return {};
  }
  std::vector<std::string> items;
  reading.settings.categories.clear();
  TENSORTAP_RETURN_IF_ERROR(value.read_texts(items));
  return read_items(value, reading, items);
}

struct KeyRow {
  ConfigKey key;
  Status (*read)(Value value, Reading& reading);
  Status (*absent)(Value section, Reading& reading) = nullptr;
};

using Into = Reading&;

constexpr std::array kRows = {
    KeyRow{{kE2e, "enable", "true or false", "", "false", "No effect: ops are looked at where they run, whatever it says.", "2.0"},
           read_enable},
    KeyRow{{kE2e, "trans_flag", "true or false", "", "true", "Whether data in a device's own layout is turned back into the usual one.",
            "2.0"},
           [](Value v, Into r) { return read_flag(v, r.settings.trans_flag); }},
    KeyRow{{kE2e, "save_kernel_args", "true or false", "", "false", "Whether attributes of ops are written, a JSON file for each op.",
            "2.3.2"},
           [](Value v, Into r) { return read_flag(v, r.settings.save_kernel_args); }},
    KeyRow{{kE2e, "stat_calc_mode", "text", "\"host\", \"device\"", "\"host\"",
            "Where statistics are computed: on the host in either case; \"device\" leaves out what devices do not compute.", "2.3.2"},
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
    KeyRow{{kCommon, "initial_iteration", "whole number", "from 0", "0", "Number of the first iteration.", "2.7.0"},
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
      reading.note(object.member(key), "is no key of MindSpore and is ignored, as there." + did_you_mean(key, known));
    } else {
      ++reading.notes_left_out;  // finding the member and what it is like is work, too
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

// The last key of all is read later: what it may hold depends on all others.
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
    reading.note(value, concat("is not known to MindSpore ", reading.release().name, " and is ignored, as there"));
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
  if (!reading.rules().fixed_categories.empty()) {
    settings.categories.clear();
    for (const std::string_view item : split(reading.rules().fixed_categories, ',')) settings.categories.emplace_back(item);
  }
  return read_row(kRows.back(), common, reading);
}

void note_repeated(const std::vector<std::string>& repeated, std::string_view name, Reading& reading) {
  const std::set<std::string> once(repeated.begin(), repeated.end());
  for (const std::string& key : once) {
    if (reading.settings.notes.size() == kMostNotes) break;
    reading.settings.notes.push_back(concat(name, ": the key ", quote(key), " stands twice; the last one counts"));
  }
}

Status read_all(Value root, Reading& reading) {
  TENSORTAP_RETURN_IF_ERROR(read_e2e(root, reading));
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
  if (reading.notes_left_out > 0) settings.notes.push_back(concat("... and ", reading.notes_left_out, " more notes of this kind"));
  return std::move(settings);
}

}  // namespace tensortap::mindspore
