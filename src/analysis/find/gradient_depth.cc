#include "find/gradient_depth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "find/robust_line.h"
#include "find/step_series.h"

namespace tensortap {
namespace {

constexpr size_t kLeastModules = 6;
constexpr double kLeastSlopeOfDepth = 2;        // doublings a module
constexpr double kLeastCertaintyOfDepth = 2.5;  // standard deviations; six modules in a row reach 2.6

// The modules with an op that reads a parameter.
std::unordered_set<std::string_view> modules_with_parameters(const DumpIndex& dump) {
  std::unordered_set<std::string_view> modules;
  for (const OpInfo& op : dump.ops()) {
    if (!op.module.empty() && attribute_slots(op, kParameters) != 0) modules.insert(op.module);
  }
  return modules;
}

bool is_gradient_output(const RecordRow& record) {
  return static_cast<Phase>(record.phase) == Phase::kBackward && record.slot_kind == static_cast<uint8_t>(SlotKind::kOutput) &&
         is_floating(static_cast<DType>(record.dtype));
}

struct Module {
  std::string_view name;
  uint64_t sequence = std::numeric_limits<uint64_t>::max();  // where the backward pass came to it
  std::vector<double> magnitudes;                            // log2 of the rms of what its ops made
};

std::vector<Module> modules_of(const DumpIndex& dump, int64_t step) {
  const std::unordered_set<std::string_view> wanted = modules_with_parameters(dump);
  std::vector<Module> modules;
  std::unordered_map<std::string_view, size_t> places;
  const std::span<const RecordRow> rows = dump.rows();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].step != step || !is_gradient_output(rows[row])) continue;
    const std::string_view name = op_of(dump, rows[row]).module;
    if (!wanted.contains(name)) continue;
    const SeriesEntry entry = series_entry(rows[row], row);
    const double rms = step_points(dump, {&entry, 1}).front().rms;
    if (!(rms > 0) || !std::isfinite(rms)) continue;
    const auto [place, is_new] = places.try_emplace(name, modules.size());
    if (is_new) modules.emplace_back().name = name;
    Module& module = modules[place->second];
    module.sequence = std::min(module.sequence, rows[row].sequence);
    module.magnitudes.push_back(std::log2(rms));
  }
  std::ranges::sort(modules, {}, &Module::sequence);
  return modules;
}

}  // namespace

std::optional<GradientDepth> gradient_depth(const DumpIndex& dump) {
  std::optional<int64_t> step;
  for (const RecordRow& record : dump.rows()) {
    if (is_gradient_output(record)) step = std::max(step.value_or(record.step), record.step);
  }
  if (!step) return std::nullopt;
  const std::vector<Module> modules = modules_of(dump, *step);
  if (modules.size() < kLeastModules) return std::nullopt;
  std::vector<Point> points;
  for (const Module& module : modules) points.push_back({static_cast<double>(points.size()), median_of(module.magnitudes)});
  const RobustLine line = robust_line(thinned(points, 256));
  const bool steady =
      std::abs(line.slope) >= kLeastSlopeOfDepth && std::abs(line.certainty) >= kLeastCertaintyOfDepth && line.slope * line.certainty > 0;
  if (!steady) return std::nullopt;
  return GradientDepth{*step,
                       modules.size(),
                       line.slope,
                       std::string(modules.front().name),
                       std::exp2(points.front().y),
                       std::string(modules.back().name),
                       std::exp2(points.back().y)};
}

}  // namespace tensortap
