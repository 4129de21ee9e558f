#include "query/sketch_json.h"

#include <string_view>

#include "base/json.h"

namespace tensortap {
namespace {

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

SketchState sketch_state_of(const DumpIndex& dump, size_t row) { return static_cast<SketchState>(dump.rows()[row].sketch); }

std::string what_lacks_of_sketch(const DumpIndex& dump, size_t row, const Result<TensorSketch>& sketch) {
  const SketchState state = sketch_state_of(dump, row);
  if (!sketch.ok() && (state == SketchState::kThere || sketch.status().code() != StatusCode::kNotFound)) return sketch.status().message();
  const std::string_view text = sketch_state_text(state);
  return text.empty() && state != SketchState::kThere ? "this version of tensortap does not know why" : std::string(text);
}

Json sketch_json(const DumpIndex& dump, size_t row) {
  if (sketch_state_of(dump, row) == SketchState::kNotAsked) return {};
  const Result<TensorSketch> sketch = dump.sketch(row);
  Json json = {{"channels", nullptr}, {"blocks", nullptr}};
  if (sketch.ok() && sketch->axis >= 0) json["channels"] = channels_json(*sketch);
  if (sketch.ok() && sketch->block > 0) json["blocks"] = blocks_json(*sketch);
  const std::string missing = what_lacks_of_sketch(dump, row, sketch);
  json["missing"] = missing.empty() ? Json() : Json(missing);
  return json;
}

}  // namespace tensortap
