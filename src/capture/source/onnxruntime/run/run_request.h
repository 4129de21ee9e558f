// What a caller of tensortap_onnxruntime_run() asks for, read from its JSON.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_REQUEST_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_REQUEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/run/number_range.h"
#include "source/onnxruntime/runtime/model_options.h"

namespace tensortap::onnxruntime {

struct RunRequest {
  std::string model;
  std::string runtime;
  std::string config;
  std::string config_name;
  std::string program;
  bool capture = true;
  std::map<std::string, int64_t> dims;
  uint64_t seed = 0;
  std::optional<NumberRange> range;           // of all inputs that are made
  std::map<std::string, NumberRange> ranges;  // of single ones
  std::string all_inputs_from;                // an origin that must hold all inputs
  int64_t runs = 1;
  int threads = 0;
  int32_t level = abi::kOptimizeAll;
  bool as_written = false;
  std::map<std::string, std::string> carry;  // output -> input
  bool verify = false;
  bool overhead = false;
  int64_t noise = 0;                   // further runs whose inputs are moved by the last bit
  std::optional<uint64_t> noise_seed;  // of such a run; no key of the request
  TapStyle taps = TapStyle::kSide;
  SessionExtras extras;

  [[nodiscard]] ModelOptions model_options() const { return {model, level, threads, as_written, extras}; }
};

// The word of a request for how far a graph is optimised: "none", "basic", "extended", "all".
std::string_view level_name(int32_t level);

// Errors: kInvalidArgument for bad JSON, unknown keys (with the nearest), wrong types and values out of range.
Result<RunRequest> parse_request(const char* text);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_REQUEST_H_
