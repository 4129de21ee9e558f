// Every key of the native config, one row each: docs/capture_config.md is held against this table.

#ifndef TENSORTAP_PLAN_SPEC_KEYS_H_
#define TENSORTAP_PLAN_SPEC_KEYS_H_

#include <array>
#include <span>
#include <string_view>

#include "plan/capture_spec.h"
#include "plan/config_key.h"

namespace tensortap {

// Top-level keys and the members of groups; selector_keys() has the keys of one selector.
std::span<const ConfigKey> spec_keys();
std::span<const ConfigKey> selector_keys();

// Words of the config for enumerators, as JSON has them, by the enumerators' numbers.
inline constexpr std::array<std::string_view, 4> kPayloadWords = {"description", "statistics", "tensor", "full"};
inline constexpr std::array<std::string_view, 4> kMomentWords = {"after", "before", "both", "in-before-out-after"};
inline constexpr std::array<std::string_view, 5> kTriggerWords = {"always", "overflow", "exception", "watch", "on-request"};
inline constexpr std::array<std::string_view, 2> kOverflowOpsWords = {"makers", "all"};
inline constexpr std::array<std::string_view, 3> kExceptionDetailWords = {"brief", "norm", "detail"};
inline constexpr std::array<std::string_view, 3> kEveryWords = {"op", "single", "root"};  // of a selector of the kind kEvery
inline constexpr std::array<std::string_view, 6> kDeviceStatsWords = {"auto", "host", "wait", "off", "operators", "kernel"};
inline constexpr std::array<std::string_view, 3> kFullPolicyWords = {"block", "stats-only", "drop"};
inline constexpr std::array<std::string_view, 3> kNonFiniteWords = {"skip-nan", "propagate", "skip-nonfinite"};
inline constexpr std::array<std::string_view, 4> kDigestWords = {"none", "xxh3", "md5", "sha1"};
inline constexpr std::array<std::string_view, 2> kAccessWords = {"private", "shared"};
inline constexpr std::array<std::string_view, 13> kSelectorWords = {"name",        "prefix", "regex",         "type", "type_contains",
                                                                    "from",        "module", "source",        "id",   "full_regex",
                                                                    "scoped_type", "every",  "operation_type"};
std::string_view payload_name(Payload payload);
std::string_view moment_choice_name(MomentChoice moment);
std::string_view trigger_name(Trigger trigger);
std::string_view overflow_ops_name(OverflowOps ops);
std::string_view exception_detail_name(ExceptionDetail detail);
std::string_view full_policy_name(FullPolicy policy);
std::string_view access_name(Access access);
std::string_view selector_kind_name(OpSelector::Kind kind);
std::string no_statistic_text(std::string_view name);         // what to say of a name for which stat_from_name() is false
bool stat_from_name(std::string_view name, uint32_t& stats);  // sets the bit(s): also "minimal" and "all"

// The selector in the user's words: the name "conv_1" (acl.json:4:7).
std::string selector_text(const OpSelector& selector);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SPEC_KEYS_H_
