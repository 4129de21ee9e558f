#include "serve/overview_answers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr size_t kMostLines = 5;

// The largest finite value of a floating type; nothing for other types.
std::optional<double> limit_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return 0x1.fffffep127;
    case DType::kFloat64:
      return 0x1.fffffffffffffp1023;
    case DType::kFloat8E4M3FN:
      return 448.0;
    case DType::kFloat8E4M3FNUZ:
      return 240.0;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 57344.0;
    default:
      return std::nullopt;
  }
}

// How often the largest magnitude can double before the type has no number for it. Of a tensor with Inf: nothing is left.
std::optional<double> doublings_left(const RecordRow& row) {
  const auto limit = limit_of(static_cast<DType>(row.dtype));
  if (!limit || (row.stats.valid & kStatAbsMax) == 0 || row.stats.absmax <= 0 || std::isnan(row.stats.absmax)) return std::nullopt;
  return std::log2(*limit / row.stats.absmax);
}

std::optional<double> largest_of(const RecordRow& row) {
  const bool counts = limit_of(static_cast<DType>(row.dtype)) && (row.stats.valid & kStatAbsMax) != 0 && std::isfinite(row.stats.absmax);
  return counts ? std::optional(row.stats.absmax) : std::nullopt;
}

std::optional<double> bytes_of(const RecordRow& row) {
  return row.bytes > 0 ? std::optional(static_cast<double>(row.bytes)) : std::nullopt;
}

// Of each op the row with the largest measure, the largest first.
std::vector<uint32_t> most_of_each_op(const ServedDump& dump, std::optional<double> (*measure)(const RecordRow&), double sign) {
  struct Best {
    double value = 0;
    uint32_t row = 0;
  };
  std::unordered_map<OpId, Best> best;
  const auto rows = dump.rows();
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].slot_kind == static_cast<uint8_t>(SlotKind::kInput) || (rows[i].flags & kRecordUnwritten) != 0) continue;
    const auto value = measure(rows[i]);
    if (!value) continue;
    const auto [place, is_new] = best.try_emplace(rows[i].op, Best{sign * *value, i});
    if (!is_new && sign * *value > place->second.value) place->second = {sign * *value, i};
  }
  std::vector<Best> sorted;
  for (const auto& [op, one] : best) sorted.push_back(one);
  std::ranges::sort(sorted, [](const Best& a, const Best& b) { return std::pair(-a.value, a.row) < std::pair(-b.value, b.row); });
  std::vector<uint32_t> chosen;
  // An op that gives on what another made, as a view, says nothing new.
  std::unordered_set<uint64_t> blocks;
  for (const Best& one : sorted) {
    if (chosen.size() == kMostLines) break;
    if (rows[one.row].storage == 0 || blocks.insert(rows[one.row].storage).second) chosen.push_back(one.row);
  }
  return chosen;
}

Json op_json(const ServedDump& dump, OpId id) {
  const auto ops = dump.index().ops();
  if (id >= ops.size()) return {{"op_id", nullptr}, {"op", ""}, {"type", ""}, {"source", nullptr}};
  const OpInfo& op = ops[id];
  return {{"op_id", id}, {"op", op.name}, {"type", op.type}, {"source", op.source_location.empty() ? Json() : Json(op.source_location)}};
}

Json row_json(const ServedDump& dump, uint32_t number) {
  const RecordRow& row = dump.rows()[number];
  const TensorDesc desc = row.desc();
  Json json = op_json(dump, row.op);
  json["record"] = number;
  json["step"] = row.step;
  json["slot"] = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  json["dtype"] = dtype_name(desc.dtype);
  json["shape"] = std::vector<int64_t>(desc.shape.dims().begin(), desc.shape.dims().end());
  json["bytes"] = row.bytes;
  json["absmax"] = (row.stats.valid & kStatAbsMax) != 0 ? json_number(row.stats.absmax) : Json();
  return json;
}

Json rows_json(const ServedDump& dump, const std::vector<uint32_t>& rows) {
  Json list = Json::array();
  for (const uint32_t row : rows) list.push_back(row_json(dump, row));
  return list;
}

Json closest_json(const ServedDump& dump) {
  Json list = Json::array();
  for (const uint32_t number : most_of_each_op(dump, doublings_left, -1)) {
    const RecordRow& row = dump.rows()[number];
    const double left = *doublings_left(row);
    Json json = row_json(dump, number);
    json["limit"] = *limit_of(static_cast<DType>(row.dtype));
    json["doublings"] = std::isfinite(left) ? Json(left) : Json(nullptr);
    list.push_back(std::move(json));
  }
  return list;
}

// By the time of all their calls, each of which counts once however many records it has.
Json slowest_json(const ServedDump& dump) {
  struct Time {
    int64_t nanoseconds = 0;
    uint64_t calls = 0;
  };
  std::unordered_map<OpId, Time> times;
  std::unordered_set<RecordLookup::Execution, RecordLookup::Hash> seen;
  int64_t all = 0;
  for (const RecordRow& row : dump.rows()) {
    if (row.duration_ns <= 0 || !seen.insert(RecordLookup::execution_of(row)).second) continue;
    Time& time = times[row.op];
    time.nanoseconds += row.duration_ns;
    ++time.calls;
    all += row.duration_ns;
  }
  std::vector<std::pair<OpId, Time>> sorted(times.begin(), times.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(-a.second.nanoseconds, a.first) < std::pair(-b.second.nanoseconds, b.first);
  });
  Json list = Json::array();
  const auto ops = dump.index().ops();
  for (size_t i = 0; i < std::min(sorted.size(), kMostLines); ++i) {
    const auto& [op, time] = sorted[i];
    Json json = op_json(dump, op);
    const std::string device = op < ops.size() ? attribute_text(ops[op], kOnDevice) : "";
    json["seconds"] = static_cast<double>(time.nanoseconds) / 1e9;
    json["device"] = device.empty() ? Json() : Json(device);
    json["calls"] = time.calls;
    json["share"] = static_cast<double>(time.nanoseconds) / static_cast<double>(all);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Result<Answer> overview_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump"}));
  return json_answer({{"largest", rows_json(asked.dump, most_of_each_op(asked.dump, largest_of, 1))},
                      {"closest", closest_json(asked.dump)},
                      {"biggest", rows_json(asked.dump, most_of_each_op(asked.dump, bytes_of, 1))},
                      {"slowest", slowest_json(asked.dump)}});
}

}  // namespace tensortap
