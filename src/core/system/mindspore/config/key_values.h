// Reads MindSpore's dump config key by key: each function reads one value into the settings. Errors: kInvalidArgument with the place of the
// value and how to fix it. A value that is ignored, or obeyed in another way than by MindSpore, becomes a note.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KEY_VALUES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KEY_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan/spec_reader.h"
#include "system/mindspore/config/settings.h"
#include "system/mindspore/release.h"

namespace tensortap::mindspore {

inline constexpr std::string_view kE2e = "e2e_dump_settings";
inline constexpr std::string_view kCommon = "common_dump_settings";
inline constexpr size_t kMostNotes = 20;
inline constexpr uint64_t kMostNumber = uint64_t{1} << 53;
// Of op_debug_mode.
inline constexpr uint64_t kOverflow = 3;
inline constexpr uint64_t kException = 4;

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
  // Finding a position reads the text from its beginning, so the number of notes is limited for hostile configs.
  void note(const SpecValue& value, std::string_view what) {
    if (settings.notes.size() < kMostNotes) {
      settings.notes.push_back(value.error(what).message());
    } else {
      ++notes_left_out;
    }
  }
};

using Value = const SpecValue&;

// The keys of e2e_dump_settings.
Status read_flag(Value value, bool& target);
Status read_enable(Value value, Reading& reading);
Status read_stat_calc_mode(Value value, Reading& reading);
Status read_precision(Value value, Reading& reading);
Status read_sample_num(Value value, Reading& reading);

// Those of common_dump_settings. `statistic_category` is read last: its valid values depend on all others.
Status read_dump_mode(Value value, Reading& reading);
Status read_path(Value value, Reading& reading);
Status read_net_name(Value value, Reading& reading);
Status read_iteration(Value value, Reading& reading);
Status read_kernels(Value value, Reading& reading);
Status read_support_device(Value value, Reading& reading);
Status read_op_debug_mode(Value value, Reading& reading);
Status read_file_format(Value value, Reading& reading);
Status read_overflow_number(Value value, Reading& reading);
Status read_saved_data(Value value, Reading& reading);
Status read_statistic_category(Value value, Reading& reading);

// Where there is no `path`.
Status find_path(Value section, Reading& reading);

// "name:line:column: section.key: what", for a missing key.
Status missing(Value section, std::string_view section_name, std::string_view key, std::string_view what);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KEY_VALUES_H_
