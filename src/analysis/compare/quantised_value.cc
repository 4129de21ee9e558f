#include "compare/quantised_value.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr size_t kMostMoves = 32;  // behind one another

// Which inputs of an op are the scale and the zero point of its output.
struct Places {
  std::string_view type;
  size_t scale;
  size_t zero_point;
};
constexpr std::array<Places, 12> kPlaces = {{{"QuantizeLinear", 1, 2},
                                             {"QLinearConv", 6, 7},
                                             {"QLinearMatMul", 6, 7},
                                             {"QGemm", 7, 8},
                                             {"QLinearAdd", 6, 7},
                                             {"QLinearMul", 6, 7},
                                             {"QLinearSigmoid", 3, 4},
                                             {"QLinearLeakyRelu", 3, 4},
                                             {"QLinearSoftmax", 3, 4},
                                             {"QLinearGlobalAveragePool", 3, 4},
                                             {"QLinearAveragePool", 3, 4},
                                             {"QLinearConcat", 0, 1}}};
constexpr std::array<std::string_view, 8> kMoves = {"Transpose", "Reshape",  "Flatten", "Squeeze",
                                                    "Unsqueeze", "Identity", "Slice",   "Gather"};

// The one number that a value holds.
std::optional<double> number_of(const ValueTable& table, ValueId id) {
  if (id == kNoValue || table.first_row(id).numel != 1) return std::nullopt;
  const Result<RecordData> data = table.dump().data(table.at(id).rows.front());
  if (!data.ok()) return std::nullopt;
  const DTypeKind kind = dtype_info(data->view.desc.dtype).kind;
  if (kind == DTypeKind::kNone || kind == DTypeKind::kString || kind == DTypeKind::kComplex) return std::nullopt;
  double number = 0;
  to_float64(data->view.desc.dtype, data->view.data, 0, 1, &number);
  return number;
}

}  // namespace

QuantisedValue quantised_value(const PairingKeys& keys, ValueId id) {
  const ValueTable& table = keys.table();
  QuantisedValue answer;
  if (is_floating(static_cast<DType>(table.first_row(id).dtype))) return answer;
  for (size_t moves = 0; moves < kMostMoves && !table.at(id).given; ++moves) {
    const std::vector<ValueId>& inputs = keys.inputs(id);
    if (std::ranges::find(kMoves, table.op(id).type) != kMoves.end() && !inputs.empty() && inputs[0] != kNoValue) {
      id = inputs[0];
      continue;
    }
    const auto* const places = std::ranges::find(kPlaces, table.op(id).type, &Places::type);
    if (places == kPlaces.end() || places->zero_point >= inputs.size()) return answer;
    const std::optional<double> scale = number_of(table, inputs[places->scale]);
    const std::optional<double> zero_point = number_of(table, inputs[places->zero_point]);
    if (!scale || !zero_point || !(*scale > 0)) return answer;
    answer.scale = {*scale};
    answer.zero_point = {static_cast<int64_t>(*zero_point)};
    return answer;
  }
  return answer;
}

}  // namespace tensortap
