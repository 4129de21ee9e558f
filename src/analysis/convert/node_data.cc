#include "convert/node_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "query/row_columns.h"
#include "query/row_query.h"

namespace tensortap {
namespace {

constexpr std::string_view kNodeDataFile = "model_explorer.json";
constexpr std::string_view kUsualKey = "absmax";
constexpr std::string_view kSmallestCounts = "min";
constexpr std::string_view kNonFiniteColour = "#d7191c";
// From blue to yellow: people who cannot tell red from green see the difference.
constexpr std::array<std::string_view, 5> kColours = {"#00224e", "#43506c", "#7d7c78", "#bcaf6f", "#fee838"};
// Model Explorer divides by the distance of two stops.
constexpr double kLeastDistance = 1e-12;

struct NodeValue {
  double value = 0;
  bool nonfinite = false;  // the tensor has NaN or Inf
};

// One statistic under every name by which an adapter of Model Explorer may know the node. It looks a key up among the names of tensors,
// then among the ids of nodes, and keys that it does not know do no harm.
class NodeValues {
 public:
  explicit NodeValues(std::string_view key) : smallest_(key == kSmallestCounts) {}

  void add(const OpInfo& op, const RecordRow& row, const NodeValue& value) {
    const std::string tensor = row.slot_index < op.outputs.size() ? op.outputs[row.slot_index] : "";
    const std::string author = op.originals.empty() ? "" : op.originals.back().name;  // the last one makes the value
    put(op.name, value);
    if (author != op.name) put(author, value);
    if (tensor != op.name && tensor != author) put(tensor, value);
    // The ONNX adapter's nodes for inputs and weights.
    if (op.type == kInputType || op.type == kInitializerType) put(concat("[value] ", tensor.empty() ? op.name : tensor), value);
  }

  [[nodiscard]] Json results() const {
    std::map<std::string, Json> results;  // a member of a Json is looked for in all of them
    for (const auto& [name, value] : values_) {
      Json& result = results[name] = {{"value", json_number(value.value)}};
      if (value.nonfinite) result["bgColor"] = kNonFiniteColour;
    }
    return results;
  }

  // Every colour for as many values as every other: a linear scale would show one large value and nothing else.
  [[nodiscard]] Json gradient() const {
    std::vector<double> sorted;
    for (const auto& [name, value] : values_) {
      if (std::isfinite(value.value)) sorted.push_back(value.value);
    }
    if (sorted.empty()) return Json::array();
    std::ranges::sort(sorted);
    const double extent = sorted.back() / 2 - sorted.front() / 2;  // halves: the difference of two finite numbers may be infinite
    Json stops = Json::array({{{"stop", 0.0}, {"bgColor", kColours.front()}}});
    double last = 0;
    for (size_t i = 1; i + 1 < kColours.size(); ++i) {
      const double value = sorted[(sorted.size() - 1) * i / (kColours.size() - 1)];
      const double stop = extent > 0 ? (value / 2 - sorted.front() / 2) / extent : 0;
      if (stop < last + kLeastDistance || stop > 1 - kLeastDistance) continue;
      stops.push_back({{"stop", stop}, {"bgColor", kColours.at(i)}});
      last = stop;
    }
    stops.push_back({{"stop", 1.0}, {"bgColor", kColours.back()}});
    return stops;
  }

 private:
  void put(const std::string& name, const NodeValue& added) {
    if (name.empty()) return;
    const auto [place, is_new] = values_.emplace(name, added);
    if (is_new) return;
    NodeValue& now = place->second;
    now.nonfinite = now.nonfinite || added.nonfinite;
    const bool counts = smallest_ ? added.value < now.value : added.value > now.value;
    if (counts || std::isnan(added.value)) now.value = std::isnan(now.value) ? now.value : added.value;
  }

  bool smallest_;
  std::map<std::string, NodeValue> values_;
};

bool is_node_data_key(const RowColumn& column) { return column.kind == ColumnKind::kNumber && (column.uses & kColumnSorts) != 0; }

bool has_nonfinite(const TensorStats& stats) {
  return ((stats.valid & kStatNan) != 0 && stats.nan > 0) || ((stats.valid & kStatPosInf) != 0 && stats.pos_inf > 0) ||
         ((stats.valid & kStatNegInf) != 0 && stats.neg_inf > 0);
}

bool is_measured(const RowColumn& column, const RecordRow& row) {
  if ((row.stats.valid & column.stats) != column.stats || (row.flags & kRecordUnwritten) != 0) return false;
  if (column.name == "duration") return row.duration_ns >= 0;
  return column.stats == 0 || row.stats.count > 0;
}

Status check_key(const RowColumn* column, const std::string& key) {
  if (column != nullptr && is_node_data_key(*column)) return {};
  const std::vector<std::string> known = node_data_keys();
  return invalid_argument(concat("--key: unknown statistic ", quote(key), "; valid: ", join(known, ", "), ".", did_you_mean(key, known)));
}

}  // namespace

std::vector<std::string> node_data_keys() {
  std::vector<std::string> words;
  for (const RowColumn& column : row_columns()) {
    if (is_node_data_key(column)) words.emplace_back(column.name);
  }
  return words;
}

Status export_node_data(const DumpIndex& dump, const ConvertRequest& request, const std::string& file, TargetFolder& target,
                        ConvertReport& report) {
  const std::string key = request.key.empty() ? std::string(kUsualKey) : request.key;
  const RowColumn* column = find_column(key);
  TENSORTAP_RETURN_IF_ERROR(check_key(column, key));
  const auto rows = select_rows(dump, {.slot = "out"});
  if (!rows.ok()) return rows.status();
  NodeValues values(key);
  for (const uint32_t index : *rows) {
    const RecordRow& row = dump.rows()[index];
    if (row.moment != static_cast<uint8_t>(Moment::kAfter) || !is_measured(*column, row)) continue;
    values.add(op_of(dump, row), row, {number_of(column_value(*column, dump, index)), has_nonfinite(row.stats)});
    ++report.sources;
  }
  if (report.sources == 0) {
    return invalid_argument(concat(request.sources[0], ": no output has ", key, "; choose another --key, or other records"));
  }
  Json data = {{"results", values.results()}, {"thresholds", Json::array()}, {"gradient", values.gradient()}};
  if (!request.graph.empty()) {
    Json graphs = Json::object();
    graphs[request.graph] = std::move(data);
    data = std::move(graphs);
  }
  const std::string text = to_json_text(data, 2) + "\n";
  TENSORTAP_RETURN_IF_ERROR(make_directories(target.path()));
  return target.write("", file.empty() ? std::string(kNodeDataFile) : file, text.size(), [&](File& out) { return out.write(text); });
}

}  // namespace tensortap
