#include "cli/sketch_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

SketchState state_of(const DumpIndex& dump, size_t row) { return static_cast<SketchState>(dump.rows()[row].sketch); }

// Why something is not there; "" when all is.
std::string missing_text(const DumpIndex& dump, size_t row, const Result<TensorSketch>& sketch) {
  const SketchState state = state_of(dump, row);
  if (!sketch.ok() && (state == SketchState::kThere || sketch.status().code() != StatusCode::kNotFound)) return sketch.status().message();
  const std::string_view text = sketch_state_text(state);
  return text.empty() && state != SketchState::kThere ? "this version of tensortap does not know why" : std::string(text);
}

std::string channels_text(const TensorSketch& sketch) {
  const auto& channels = sketch.channels;
  std::string text = fmt::format("{} along axis {}, {} elements each", channels.size(), sketch.axis, sketch.channel_elements);
  if (channels.empty()) return text;
  const auto largest = std::ranges::max_element(channels, {}, &ChannelSums::absmax);
  text += fmt::format("; the largest is {} (absmax {})", largest - channels.begin(), to_text(largest->absmax));
  const auto zero = std::ranges::count_if(channels, [&](const ChannelSums& sums) { return sums.zero == sketch.channel_elements; });
  const auto odd = std::ranges::count_if(channels, [](const ChannelSums& sums) { return sums.nonfinite > 0; });
  if (zero > 0 && sketch.channel_elements > 0) text += fmt::format("; {} all zero", zero);
  if (odd > 0) text += fmt::format("; {} with NaN or Inf", odd);
  return text;
}

uint64_t blocks_of(const BlockCounts& counts) {
  uint64_t blocks = counts.zero + counts.nan + counts.inf;
  for (const uint64_t bin : counts.bins) blocks += bin;
  return blocks;
}

std::string blocks_text(const TensorSketch& sketch) {
  const BlockCounts& counts = sketch.blocks;
  std::string text = fmt::format("{} of {} elements", blocks_of(counts), sketch.block);
  const auto filled = [](uint64_t count) { return count > 0; };
  const auto* first = std::find_if(std::begin(counts.bins), std::end(counts.bins), filled);
  if (first != std::end(counts.bins)) {
    auto last = std::end(counts.bins) - 1;
    while (*last == 0) --last;
    text += fmt::format("; largest magnitudes from 2^{} to 2^{}", first - counts.bins + BlockCounts::kLowestExponent,
                        last - counts.bins + BlockCounts::kLowestExponent + 1);
  }
  if (counts.zero > 0) text += fmt::format("; {} all zero", counts.zero);
  if (counts.nan + counts.inf > 0) text += fmt::format("; {} with NaN or Inf", counts.nan + counts.inf);
  return text;
}

std::string underflow_text(const BlockCounts& counts) {
  if (counts.nonzero == 0) return "";
  std::vector<std::string> parts;
  for (size_t i = 0; i < kUnderflowFormats.size(); ++i) {
    const double share = static_cast<double>(counts.underflow[i]) / static_cast<double>(counts.nonzero);
    parts.push_back(fmt::format("{} {:.3g} %", kUnderflowFormats[i].name, 100 * share));
  }
  return fmt::format("scaled by block, of the values other than 0 become 0: {}", join(parts, ", "));
}

Json channels_json(const TensorSketch& sketch) {
  Json json = {{"axis", sketch.axis}, {"elements", sketch.channel_elements}};
  for (const char* name : {"absmax", "squares", "zero", "nonfinite"}) json[name] = Json::array();
  for (const ChannelSums& sums : sketch.channels) {
    json["absmax"].push_back(json_number(sums.absmax));
    json["squares"].push_back(json_number(sums.squares));
    json["zero"].push_back(sums.zero);
    json["nonfinite"].push_back(sums.nonfinite);
  }
  return json;
}

Json blocks_json(const TensorSketch& sketch) {
  const BlockCounts& counts = sketch.blocks;
  Json json = {{"size", sketch.block}, {"bins", counts.bins}, {"zero", counts.zero},
               {"nan", counts.nan},    {"inf", counts.inf},   {"nonzero", counts.nonzero}};
  for (size_t i = 0; i < kUnderflowFormats.size(); ++i) json["underflow"][std::string(kUnderflowFormats[i].name)] = counts.underflow[i];
  return json;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sketch_lines(const DumpIndex& dump, size_t row) {
  if (state_of(dump, row) == SketchState::kNotAsked) return {};
  std::vector<std::pair<std::string, std::string>> lines;
  const Result<TensorSketch> sketch = dump.sketch(row);
  if (sketch.ok() && sketch->axis >= 0) lines.emplace_back("channels", channels_text(*sketch));
  if (sketch.ok() && sketch->block > 0) {
    lines.emplace_back("blocks", blocks_text(*sketch));
    if (std::string text = underflow_text(sketch->blocks); !text.empty()) lines.emplace_back("", std::move(text));
  }
  if (const std::string missing = missing_text(dump, row, sketch); !missing.empty()) {
    const bool blocks_alone = sketch.ok() && sketch->block > 0;
    lines.emplace_back(blocks_alone ? "channels" : "sketch", concat("none: ", missing));
  }
  return lines;
}

Json sketch_json(const DumpIndex& dump, size_t row) {
  if (state_of(dump, row) == SketchState::kNotAsked) return {};
  const Result<TensorSketch> sketch = dump.sketch(row);
  Json json = {{"channels", nullptr}, {"blocks", nullptr}};
  if (sketch.ok() && sketch->axis >= 0) json["channels"] = channels_json(*sketch);
  if (sketch.ok() && sketch->block > 0) json["blocks"] = blocks_json(*sketch);
  const std::string missing = missing_text(dump, row, sketch);
  json["missing"] = missing.empty() ? Json() : Json(missing);
  return json;
}

}  // namespace tensortap::cli
