#include "compare/comparison_csv.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "compare/comparison_json.h"

namespace tensortap {
namespace {

// Members of the JSON form.
constexpr std::array<std::string_view, 35> kColumns = {"a",
                                                       "b",
                                                       "type_a",
                                                       "type_b",
                                                       "step_a",
                                                       "step_b",
                                                       "rank",
                                                       "dtype_a",
                                                       "dtype_b",
                                                       "shape_a",
                                                       "shape_b",
                                                       "rule",
                                                       "order",
                                                       "verdict",
                                                       "birth",
                                                       "growth",
                                                       "from",
                                                       "weight",
                                                       "error",
                                                       "noise",
                                                       "bit_equal",
                                                       "differing",
                                                       "first_differing",
                                                       "max_abs",
                                                       "max_rel",
                                                       "mean_abs",
                                                       "rmse",
                                                       "relative_l2",
                                                       "cosine",
                                                       "snr_db",
                                                       "max_ulp",
                                                       "share_within_1e_3",
                                                       "share_within_5e_3",
                                                       "nonfinite_differing",
                                                       "reason"};

constexpr std::array<std::string_view, 25> kMsprobeColumns = {"NPU Name",
                                                              "Bench Name",
                                                              "NPU Dtype",
                                                              "Bench Dtype",
                                                              "NPU Tensor Shape",
                                                              "Bench Tensor Shape",
                                                              "NPU Requires_grad",
                                                              "Bench Requires_grad",
                                                              "Cosine",
                                                              "EucDist",
                                                              "MaxAbsErr",
                                                              "MaxRelativeErr",
                                                              "One Thousandth Err Ratio",
                                                              "Five Thousandths Err Ratio",
                                                              "NPU max",
                                                              "NPU min",
                                                              "NPU mean",
                                                              "NPU l2norm",
                                                              "Bench max",
                                                              "Bench min",
                                                              "Bench mean",
                                                              "Bench l2norm",
                                                              "Requires_grad Consistent",
                                                              "Result",
                                                              "Err_message"};

// A cell in quotes where it needs them. A text that a spreadsheet would read as a formula gets a quote mark before it.
std::string cell(std::string_view text) {
  const bool formula = !text.empty() && std::string_view("=+@").find(text.front()) != std::string_view::npos;
  if (!formula && text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string line_of(const auto& cells) {
  std::string line;
  for (const auto& one : cells) line += concat(line.empty() ? "" : ",", cell(one));
  return line + "\n";
}

std::string json_cell(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : to_json_text(*found);
}

constexpr std::string_view kUnknown = "N/A";

std::string shape_text(const RecordRow& row) {
  std::string text = "(";
  const TensorDesc desc = row.desc();
  for (int i = 0; i < desc.shape.rank(); ++i) text += concat(i == 0 ? "" : ", ", desc.shape[i]);
  return text + (desc.shape.rank() == 1 ? ",)" : ")");
}

void add_statistics(const RecordRow& row, std::vector<std::string>& cells) {
  const auto add = [&](uint32_t bit, double value) {
    cells.push_back((row.stats.valid & bit) != 0 ? to_text(value) : std::string(kUnknown));
  };
  add(kStatMax, row.stats.max);
  add(kStatMin, row.stats.min);
  add(kStatMean, row.stats.mean);
  add(kStatL2, row.stats.l2);
}

void add_metrics(const ComparedValue& value, std::vector<std::string>& cells) {
  if (!value.data) {
    cells.insert(cells.end(), 6, std::string(kUnknown));
    return;
  }
  const Difference& difference = *value.data;
  const double distance = std::sqrt(difference.mse * static_cast<double>(difference.finite));
  for (const double number :
       {difference.cosine, distance, difference.max_abs, difference.max_rel, difference.share_within_1e_3, difference.share_within_5e_3}) {
    cells.push_back(to_text(number));
  }
}

std::string_view msprobe_result(Verdict verdict) {
  return verdict == Verdict::kNotComparable ? "warning" : is_outside(verdict) ? "error" : "pass";
}

std::string msprobe_line(const DumpComparison& comparison, const ComparedValue& value) {
  const RecordRow& of_a = comparison.a().rows()[value.row_a];
  const RecordRow& of_b = comparison.b().rows()[value.row_b];
  std::vector<std::string> cells = {record_name_of(comparison.a(), value.row_a),
                                    record_name_of(comparison.b(), value.row_b),
                                    std::string(dtype_name(static_cast<DType>(of_a.dtype))),
                                    std::string(dtype_name(static_cast<DType>(of_b.dtype))),
                                    shape_text(of_a),
                                    shape_text(of_b),
                                    std::string(kUnknown),
                                    std::string(kUnknown)};
  add_metrics(value, cells);
  add_statistics(of_a, cells);
  add_statistics(of_b, cells);
  cells.emplace_back(kUnknown);
  cells.emplace_back(msprobe_result(value.verdict));
  cells.push_back(value.reason.empty() && is_outside(value.verdict) ? std::string(verdict_name(value.verdict)) : value.reason);
  return line_of(cells);
}

}  // namespace

std::string csv_header(CsvStyle style) { return style == CsvStyle::kOwn ? line_of(kColumns) : line_of(kMsprobeColumns); }

std::string csv_line(CsvStyle style, const DumpComparison& comparison, const ComparedValue& value) {
  if (style == CsvStyle::kMsprobe) return msprobe_line(comparison, value);
  const Json json = compared_json(comparison, value);
  std::vector<std::string> cells;
  for (const std::string_view name : kColumns) cells.push_back(json_cell(json, name));
  return line_of(cells);
}

}  // namespace tensortap
