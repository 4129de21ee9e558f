// What the command line asks for, as a CaptureSpec: the shared options of `run` and `exec` over a config.

#ifndef TENSORTAP_PLAN_SELECTION_H_
#define TENSORTAP_PLAN_SELECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap {

// The texts of the options as typed; empty or nothing for options that were not given.
struct CaptureOptions {
  std::optional<CaptureSpec> config;  // the file of --config, read by its dialect; the options win over it
  std::vector<std::string> ops;       // --ops REGEX, may be repeated: any of them
  std::vector<std::string> types;     // --types A,B; with --ops only ops of these types among those
  std::vector<std::string> modules;   // --modules A,B; with --types only ops of these types among those; not with --ops
  std::optional<std::string> steps;
  std::optional<std::string> step_at;  // --step-at REGEX
  std::optional<std::string> slots;
  std::vector<std::string> levels;
  std::optional<std::string> where;
  std::optional<std::string> channels;  // --channels AXIS
  std::optional<std::string> blocks;    // --blocks 16|32|128
  std::vector<std::string> statistics;  // --statistics A,B
  bool stats = false;
  bool tensors = false;
  bool full = false;
  bool describe = false;
  std::optional<std::string> budget;      // "3%"
  std::optional<std::string> max_bytes;   // "4 GiB"
  std::optional<std::string> keep_free;   //
  std::optional<std::string> stop_after;  // steps
  std::string device_stats;               // a word of kDeviceStatsWords, "" = as the config says
  bool strict = false;
  std::optional<std::string> layout;
  std::optional<std::string> profile;
  std::optional<std::string> out;
  std::string mode;  // "private" or "shared"
};

// Errors: kInvalidArgument that begins with the option ("--steps: ..."), for texts that are wrong and for options that contradict each
// other. Whether the result can be carried out is for CapturePlan::compile() to say.
Result<CaptureSpec> spec_from_options(const CaptureOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SELECTION_H_
