#include "system/mindspore/config/key_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/config/iteration.h"
#include "system/mindspore/statistics.h"

namespace tensortap::mindspore {
namespace {

constexpr std::array<std::string_view, 3> kSavedData = {"tensor", "statistic", "full"};
constexpr std::array<std::string_view, 2> kPlaces = {"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions = {"high", "low"};
constexpr std::array<std::string_view, 2> kFileFormats = {"npy", "bin"};
// The characters of a path; without the first one, of a name.
constexpr std::string_view kNameCharacters = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

// Takes the path or, without one, that of the environment. Returns the fault, "" = none.
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

// The device that an entry means after MindSpore's conversion to a whole number; nothing for one that does not exist.
std::optional<uint64_t> device_of(const Json& entry) {
  constexpr double kMostDevices = 1U << 30U;
  const double number = entry.is_boolean() ? static_cast<double>(entry.get<bool>()) : std::trunc(entry.get<double>());
  return number >= 0 && number < kMostDevices ? std::optional(static_cast<uint64_t>(number)) : std::nullopt;
}

// The items as the names of their columns; in a device dump only those that devices compute.
Status read_items(Value value, Reading& reading, const std::vector<std::string>& items) {
  std::set<std::string> host_only;
  std::vector<std::string>& chosen = reading.settings.categories;
  for (size_t i = 0; i < items.size(); ++i) {
    const Category* category = find_category(items[i]);
    const bool known = category != nullptr && (!category->newest_only || reading.release().tree.hash_categories);
    if (!known) {
      std::vector<std::string> names;
      for (const Category& row : categories()) {
        if (!row.newest_only || reading.release().tree.hash_categories) names.emplace_back(row.item);
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

}  // namespace

// MindSpore's own message calls each of them "enable"; who compares the two should find the word.
Status read_flag(Value value, bool& target) {
  if (!value.json().is_boolean()) return value.wrong_type("true or false, like \"enable\"");
  target = value.json().get<bool>();
  return {};
}

Status read_enable(Value value, Reading& reading) {
  Settings& settings = reading.settings;
  TENSORTAP_RETURN_IF_ERROR(value.read_bool(settings.synchronous));
  if (settings.synchronous || !reading.rules().enable_false_ends_e2e) return {};
  const bool asynchronous = reading.on(DeviceKind::kAscend);
  if (reading.strict || asynchronous) settings.e2e = false;
  if (asynchronous) {
    reading.note(value, concat("false: MindSpore ", reading.release().name, " dumps asynchronously on Ascend, and so does this dump; ",
                               "true is the synchronous dump"));
  }
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

Status missing(Value section, std::string_view section_name, std::string_view key, std::string_view what) {
  return invalid_argument(concat(section.position(), ": ", section_name, ".", key, ": ", what));
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
  if (repeated) reading.note(value, "a device occurs twice");
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
  if (counts_as == kException && reading.strict && settings.graph_dump == GraphDump::kByGraphEngine) {
    return value.error("4 is not for the dump of the graph engine; unset ENABLE_MS_GE_DUMP, use 0 or 3, or leave --profile-strict out");
  }
  settings.op_debug_mode = static_cast<uint64_t>(counts_as);
  if (settings.op_debug_mode != 0 && settings.sample_mode != 0) {
    reading.note(value, concat(settings.op_debug_mode, " looks at whole tensors; \"sample_mode\" has no effect"));
  }
  if (settings.op_debug_mode == kException && settings.e2e) {
    if (settings.iteration != "all") reading.note(value, "4 looks at every iteration; \"iteration\" has no effect");
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
  } else if (settings.op_debug_mode == kOverflow && settings.input_output != 0) {
    reading.note(value, concat("3 keeps the ", settings.input_output == 1 ? "inputs" : "outputs",
                               " alone, as \"input_output\" says; MindSpore keeps both from 2.7.0 on"));
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

Status read_statistic_category(Value value, Reading& reading) {
  if (!reading.has_statistics()) return {};
  if (!reading.release().tree.fixed_categories.empty()) {
    reading.note(value, concat("has no effect: the statistics of MindSpore ", reading.release().name, " are fixed"));
    return {};
  }
  std::vector<std::string> items;
  reading.settings.categories.clear();
  TENSORTAP_RETURN_IF_ERROR(value.read_texts(items));
  return read_items(value, reading, items);
}

}  // namespace tensortap::mindspore
