#include "cli/text/sketch_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "query/sketch_json.h"

namespace tensortap::cli {
namespace {

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

}  // namespace

std::vector<std::pair<std::string, std::string>> sketch_lines(const DumpIndex& dump, size_t row) {
  if (sketch_state_of(dump, row) == SketchState::kNotAsked) return {};
  std::vector<std::pair<std::string, std::string>> lines;
  const Result<TensorSketch> sketch = dump.sketch(row);
  if (sketch.ok() && sketch->axis >= 0) lines.emplace_back("channels", channels_text(*sketch));
  if (sketch.ok() && sketch->block > 0) {
    lines.emplace_back("blocks", blocks_text(*sketch));
    if (std::string text = underflow_text(sketch->blocks); !text.empty()) lines.emplace_back("", std::move(text));
  }
  if (const std::string missing = what_lacks_of_sketch(dump, row, sketch); !missing.empty()) {
    const bool blocks_alone = sketch.ok() && sketch->block > 0;
    lines.emplace_back(blocks_alone ? "channels" : "sketch", concat("none: ", missing));
  }
  return lines;
}

}  // namespace tensortap::cli
