#include "find/patterns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "query/record_lookup.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr double kExploding = 1e3;  // times the median
constexpr double kVanishing = 1e-6;

uint64_t slot_key(const RecordRow& row) { return uint64_t{row.op} << 32 | uint64_t{row.slot_kind} << 16 | row.slot_index; }

// Nothing when the record does not show it.
std::optional<bool> is_all_zero(const RecordRow& row) {
  if (row.numel == 0 || (row.stats.valid & kStatSampled) != 0) return std::nullopt;
  if ((row.stats.valid & kStatZero) != 0) return row.stats.zero == row.numel;
  constexpr uint32_t kEnough = kStatMin | kStatMax | kStatNan;
  if ((row.stats.valid & kEnough) != kEnough) return std::nullopt;
  return row.stats.nan == 0 && row.stats.min == 0 && row.stats.max == 0;
}

std::optional<double> rms_of(const RecordRow& row) {
  constexpr uint32_t kNeeded = kStatL2 | kStatNan;
  if ((row.stats.valid & kNeeded) != kNeeded || row.numel == 0) return std::nullopt;
  if (row.stats.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  const uint64_t count = row.stats.count > 0 ? row.stats.count : row.numel;
  return row.stats.l2 / std::sqrt(static_cast<double>(count));
}

double finite_median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool is_file_and_line(std::string_view text, std::string_view asked) {
  if (!text.ends_with(asked)) return false;
  return text.size() == asked.size() || text[text.size() - asked.size() - 1] == '/';
}

}  // namespace

std::vector<DeadOutput> find_dead_outputs(const DumpIndex& dump) {
  struct Seen {
    DeadOutput dead;
    bool alive = false;
  };
  std::vector<Seen> slots;
  std::unordered_map<uint64_t, size_t> places;
  for (const size_t row : rows_in_time_order(dump)) {
    const RecordRow& record = dump.rows()[row];
    const OpInfo& op = op_of(dump, record);
    if (record.slot_kind != static_cast<uint8_t>(SlotKind::kOutput) || is_pseudo_op(op)) continue;
    const std::optional<bool> zero = is_all_zero(record);
    if (!zero) continue;
    const auto [place, is_new] = places.emplace(slot_key(record), slots.size());
    if (is_new) slots.push_back({{row, 0}, false});
    Seen& seen = slots[place->second];
    ++seen.dead.records;
    seen.alive = seen.alive || !*zero;
  }
  std::vector<DeadOutput> dead;
  for (const Seen& seen : slots) {
    if (!seen.alive) dead.push_back(seen.dead);
  }
  return dead;
}

GradientReport find_gradients(const DumpIndex& dump) {
  GradientReport report;
  std::map<int64_t, std::vector<GradientRecord>> steps;
  const std::span<const RecordRow> rows = dump.rows();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].slot_kind != static_cast<uint8_t>(SlotKind::kGradient)) continue;
    ++report.records;
    if (const std::optional<double> rms = rms_of(rows[row])) steps[rows[row].step].push_back({row, *rms, 0});
  }
  for (auto& [step, gradients] : steps) {
    std::vector<double> values;
    for (const GradientRecord& gradient : gradients) values.push_back(gradient.rms);
    const double median = finite_median(std::move(values));
    for (GradientRecord& gradient : gradients) {
      gradient.ratio = gradient.rms / median;
      if (!std::isfinite(gradient.rms) || gradient.rms > kExploding * median) report.exploding.push_back(gradient);
      if (gradient.rms < kVanishing * median) report.vanishing.push_back(gradient);
    }
  }
  // NaN before everything.
  const auto size = [](const GradientRecord& gradient) {
    return std::isnan(gradient.rms) ? std::numeric_limits<double>::infinity() : gradient.rms;
  };
  std::ranges::stable_sort(report.exploding, std::greater<>(), size);
  std::ranges::stable_sort(report.vanishing, {}, size);
  return report;
}

std::vector<OpId> ops_of_source(const DumpIndex& dump, std::string_view location) {
  std::vector<OpId> found;
  if (location.empty()) return found;
  const std::span<const OpInfo> ops = dump.ops();
  for (OpId id = 0; id < ops.size(); ++id) {
    const std::string_view source = ops[id].source_location;
    const std::string_view file = source.substr(0, source.rfind(':'));
    if (is_file_and_line(source, location) || is_file_and_line(file, location)) found.push_back(id);
  }
  return found;
}

std::vector<OpId> ops_of_name(const DumpIndex& dump, std::string_view name) {
  std::vector<OpId> found;
  const std::span<const OpInfo> ops = dump.ops();
  for (OpId id = 0; id < ops.size(); ++id) {
    const bool original = std::ranges::any_of(ops[id].originals, [&](const OriginalNode& node) { return node.name == name; });
    if (ops[id].name == name || original) found.push_back(id);
  }
  return found;
}

}  // namespace tensortap
