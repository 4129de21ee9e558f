// The values of the native config's keys that are more than a number or a flag: each read into the spec, or written from it. Errors:
// kInvalidArgument with the place of the value and how to fix it.

#ifndef TENSORTAP_PLAN_SPEC_VALUES_H_
#define TENSORTAP_PLAN_SPEC_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "plan/capture_spec.h"
#include "plan/spec_reader.h"

namespace tensortap::spec_values {

inline constexpr uint64_t kMostCount = uint64_t{1} << 53;  // what every JSON reader keeps exactly
inline constexpr int kConfigVersion = 1;

template <class Enum>
Status read_enum(const SpecValue& value, std::span<const std::string_view> names, Enum& target) {
  size_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(value.read_choice(names, index));
  target = static_cast<Enum>(index);
  return {};
}

// One of the names, as a text.
Status read_word(const SpecValue& value, std::span<const std::string_view> names, std::string& target);

Status read_version(const SpecValue& value, CaptureSpec& spec);
Status read_steps(const SpecValue& value, CaptureSpec& spec);
Status read_slots(const SpecValue& value, CaptureSpec& spec);
Status read_devices(const SpecValue& value, CaptureSpec& spec);
Status read_stats(const SpecValue& value, CaptureSpec& spec);
Status read_levels(const SpecValue& value, CaptureSpec& spec);
Status read_where(const SpecValue& value, CaptureSpec& spec);
Status read_step_at(const SpecValue& value, CaptureSpec& spec);
Status read_first_step(const SpecValue& value, CaptureSpec& spec);
Status read_stop_after(const SpecValue& value, CaptureSpec& spec);
Status read_max_bytes(const SpecValue& value, CaptureSpec& spec);
Status read_keep_free(const SpecValue& value, CaptureSpec& spec);
Status read_pool_bytes(const SpecValue& value, CaptureSpec& spec);
Status read_budget(const SpecValue& value, CaptureSpec& spec);
Status read_sketch_axis(const SpecValue& value, CaptureSpec& spec);
Status read_sketch_block(const SpecValue& value, CaptureSpec& spec);
Status read_layout(const SpecValue& value, CaptureSpec& spec);
Status read_out(const SpecValue& value, CaptureSpec& spec);
Status read_dialect(const SpecValue& value, CaptureSpec& spec);
Status read_layout_options(const SpecValue& value, CaptureSpec& spec);

Json stats_to_json(const CaptureSpec& spec);
Json slots_to_json(const CaptureSpec& spec);

}  // namespace tensortap::spec_values

#endif  // TENSORTAP_PLAN_SPEC_VALUES_H_
