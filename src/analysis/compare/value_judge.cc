#include "compare/value_judge.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "compare/arrangement.h"
#include "compare/unit_roundoff.h"

namespace tensortap {
namespace {

constexpr double kClose = 0.05;      // relative L2
constexpr double kMuchNearer = 0.5;  // times the distance in another order
constexpr double kOtherRows = 0.75;  // rows of other tokens are further apart
constexpr double kNearRows = 1e-4;   // where nothing but the values says that rows belong together

bool has_data(const RecordRow& row) { return (row.flags & kRecordHasData) != 0; }

// Real numbers, or whole ones and truth values: an op's author does not call both by one name.
enum class Kind : uint8_t { kReal, kWhole, kText, kOther };
Kind kind_of(const RecordRow& row) {
  switch (dtype_info(static_cast<DType>(row.dtype)).kind) {
    case DTypeKind::kFloat:
    case DTypeKind::kComplex:
      return Kind::kReal;
    case DTypeKind::kBool:
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return Kind::kWhole;
    case DTypeKind::kString:
      return Kind::kText;
    default:
      return Kind::kOther;
  }
}

// Whether a pair holds whatever its values are.
bool holds(Evidence evidence) { return evidence == Evidence::kName || evidence == Evidence::kProgram; }

OrderedTensor ordered(const RecordRow& row, const RecordData& data) { return {data.view, (row.flags & kRecordBlocked) != 0}; }

bool close(double a, double b) { return std::abs(a - b) <= kClose * std::abs(b) || (std::isnan(a) && std::isnan(b)) || a == b; }

bool same_digest(const RecordRow& a, const RecordRow& b) {
  return a.digest_kind != 0 && a.digest_kind == b.digest_kind && std::ranges::equal(a.digest, b.digest);
}

bool close_statistics(const RecordRow& a, const RecordRow& b) {
  constexpr uint32_t kNeeded = kStatL2 | kStatAbsMax;
  const uint32_t valid = a.stats.valid & b.stats.valid;
  if ((valid & kNeeded) == 0) return a.desc().shape == b.desc().shape;
  return ((valid & kStatL2) == 0 || close(a.stats.l2, b.stats.l2)) && ((valid & kStatAbsMax) == 0 || close(a.stats.absmax, b.stats.absmax));
}

// Elements that are infinite on one side only are in no norm: a mask is not the same as one that hides all.
bool is_close(const Difference& difference) {
  if (difference.differing == 0) return true;
  return difference.relative_l2 <= kClose &&
         static_cast<double>(difference.nonfinite_differing) <= kClose * static_cast<double>(difference.compared);
}

// The first of these ways in which the pair holds.
std::optional<Acceptance> nearest_arrangement(const TensorView& a, const TensorView& b, const std::vector<Arrangement>& ways,
                                              const ToleranceRule& tolerance, double most) {
  for (const Arrangement& way : ways) {
    if (!(sampled_difference(a, b, way) <= 2 * most)) continue;
    Result<Difference> difference = compare_arranged(a, b, way, {.tolerance = tolerance, .a = {}, .b = {}, .permutation = {}});
    if (!difference.ok() || !is_close(*difference) || !(difference->differing == 0 || difference->relative_l2 <= most)) continue;
    Acceptance accepted;
    accepted.order.arrangement = way;
    accepted.first = *std::move(difference);
    return accepted;
  }
  return std::nullopt;
}

// For a pair that holds whatever its values are: the way that brings them much nearer than they are in the other order, if one does.
std::optional<Acceptance> clearly_nearer(const TensorView& a, const TensorView& b, const std::vector<Arrangement>& ways,
                                         const ToleranceRule& tolerance, std::optional<Acceptance> plain, double most) {
  const double error = plain && plain->first ? plain->first->relative_l2 : 1;
  const auto nearest = std::ranges::min_element(ways, {}, [&](const Arrangement& way) { return sampled_difference(a, b, way); });
  if (nearest == ways.end() || !(sampled_difference(a, b, *nearest) <= most * std::min(error, 1.0))) return plain;
  Result<Difference> difference = compare_arranged(a, b, *nearest, {.tolerance = tolerance, .a = {}, .b = {}, .permutation = {}});
  if (!difference.ok() || !(difference->relative_l2 <= most * std::min(error, 1.0))) return plain;
  Acceptance accepted;
  accepted.order.arrangement = *nearest;
  accepted.first = *std::move(difference);
  return accepted;
}

// The same of the orders of whole dimensions.
std::optional<Acceptance> nearest_order(const OrderedTensor& a, const OrderedTensor& b, const std::vector<TensorOrder>& orders,
                                        const ToleranceRule& tolerance) {
  const auto nearest = std::ranges::min_element(orders, {}, [&](const TensorOrder& order) { return sampled_difference(a, b, order); });
  if (nearest == orders.end() || !(sampled_difference(a, b, *nearest) <= kMuchNearer)) return std::nullopt;
  Result<Difference> difference = compare_in_order(a, b, *nearest, {.tolerance = tolerance, .a = {}, .b = {}, .permutation = {}});
  if (!difference.ok() || !(difference->relative_l2 <= kMuchNearer)) return std::nullopt;
  return Acceptance{*nearest, *std::move(difference)};
}

}  // namespace

RowDifference compare_rows(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b, const TensorOrder& order,
                           const DifferenceOptions& options) {
  RowDifference answer;
  const RecordRow& of_a = a.rows()[row_a];
  const RecordRow& of_b = b.rows()[row_b];
  if (!has_data(of_a) || !has_data(of_b)) return answer;
  const Result<RecordData> data_a = a.data(row_a);
  const Result<RecordData> data_b = b.data(row_b);
  if (!data_a.ok() || !data_b.ok()) {
    answer.failure = data_a.ok() ? data_b.status().with_context("B") : data_a.status().with_context("A");
    answer.unreadable = true;
    return answer;
  }
  Result<Difference> difference = compare_in_order(ordered(of_a, *data_a), ordered(of_b, *data_b), order, options);
  if (difference.ok()) {
    answer.data = *std::move(difference);
  } else {
    answer.failure = difference.status();
  }
  return answer;
}

std::optional<Difference> compare_last_place(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b,
                                             const ToleranceRule& tolerance) {
  const RecordRow& of_a = a.rows()[row_a];
  const RecordRow& of_b = b.rows()[row_b];
  if (kind_of(of_a) != kind_of(of_b) || !has_data(of_a) || !has_data(of_b)) return std::nullopt;
  const std::vector<Arrangement> ways = last_places(of_a.desc().shape, of_b.desc().shape);
  if (ways.empty()) return std::nullopt;
  const Result<RecordData> data_a = a.data(row_a);
  const Result<RecordData> data_b = b.data(row_b);
  if (!data_a.ok() || !data_b.ok()) return std::nullopt;
  std::optional<Acceptance> accepted = nearest_arrangement(data_a->view, data_b->view, ways, tolerance, kClose);
  if (!accepted) accepted = clearly_nearer(data_a->view, data_b->view, ways, tolerance, std::nullopt, kMuchNearer);
  return accepted ? std::move(accepted->first) : std::nullopt;
}

std::optional<Difference> compare_cells_in_use(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b,
                                               const ToleranceRule& tolerance) {
  const std::vector<Arrangement> ways = cells_in_use(a.rows()[row_a].desc().shape, b.rows()[row_b].desc().shape);
  const Result<RecordData> data_a = a.data(row_a);
  const Result<RecordData> data_b = b.data(row_b);
  if (ways.empty() || !data_a.ok() || !data_b.ok()) return std::nullopt;
  auto nearest = clearly_nearer(data_a->view, data_b->view, ways, tolerance, std::nullopt, kMuchNearer);
  return nearest ? std::move(nearest->first) : std::nullopt;
}

bool ValueJudge::fit_in_size(ValueId a, ValueId b) const {
  return std::ranges::all_of(alignment_.rows(a_.at(a), b_.at(b)), [&](const Alignment::RowPair& rows) {
    return a_.dump().rows()[rows.first].numel == b_.dump().rows()[rows.second].numel ||
           compare_last_place(a_.dump(), rows.first, b_.dump(), rows.second, tolerance_(a));
  });
}

bool ValueJudge::are_of_one_size(ValueId a, ValueId b) const {
  return std::ranges::all_of(alignment_.rows(a_.at(a), b_.at(b)), [this](const Alignment::RowPair& rows) {
    return a_.dump().rows()[rows.first].numel == b_.dump().rows()[rows.second].numel;
  });
}

std::optional<Acceptance> ValueJudge::judge(ValueId a, const Alignment::RowPair& first, Evidence evidence) const {
  const auto [row_a, row_b] = first;
  const RecordRow& of_a = a_.dump().rows()[row_a];
  const RecordRow& of_b = b_.dump().rows()[row_b];
  if (holds(evidence) && kind_of(of_a) != kind_of(of_b)) evidence = Evidence::kValues;
  if (of_a.numel != of_b.numel) {
    std::optional<Acceptance> of_rows = judge_rows(a, first, evidence);
    return of_rows || evidence != Evidence::kProgram ? std::move(of_rows) : std::optional(Acceptance{});
  }
  if (!has_data(of_a) || !has_data(of_b)) return judge_statistics(of_a, of_b, evidence);
  const Result<RecordData> data_a = a_.dump().data(row_a);
  const Result<RecordData> data_b = b_.dump().data(row_b);
  if (!data_a.ok() || !data_b.ok()) return judge_statistics(of_a, of_b, evidence);
  return judge_data(ordered(of_a, *data_a), ordered(of_b, *data_b), tolerance_(a), evidence);
}

// One program may compute the last rows only: of what it makes of hidden states, the next token needs no more. And one may compute
// attention over all cells of its cache, whether they are in use or not.
std::optional<Acceptance> ValueJudge::judge_rows(ValueId a, const Alignment::RowPair& first, Evidence evidence) const {
  const RecordRow& of_a = a_.dump().rows()[first.first];
  const RecordRow& of_b = b_.dump().rows()[first.second];
  if (kind_of(of_a) != Kind::kReal || kind_of(of_b) != Kind::kReal || !has_data(of_a) || !has_data(of_b)) return std::nullopt;
  const std::vector<Arrangement> rows = last_rows(of_a.desc().shape, of_b.desc().shape);
  const std::vector<Arrangement> cells = first_cells(of_a.desc().shape, of_b.desc().shape);
  std::vector<Arrangement> ways = rows;
  std::ranges::copy(cells, std::back_inserter(ways));
  if (ways.empty()) return std::nullopt;
  const Result<RecordData> data_a = a_.dump().data(first.first);
  const Result<RecordData> data_b = b_.dump().data(first.second);
  if (!data_a.ok() || !data_b.ok()) return std::nullopt;
  const double unit = std::max(unit_roundoff(static_cast<DType>(of_a.dtype)), unit_roundoff(static_cast<DType>(of_b.dtype)));
  const double most = evidence == Evidence::kValues ? std::max(kNearRows, 4 * unit) : kClose;
  std::optional<Acceptance> near = nearest_arrangement(data_a->view, data_b->view, ways, tolerance_(a), most);
  if (near || !holds(evidence)) return near;
  near = clearly_nearer(data_a->view, data_b->view, rows, tolerance_(a), std::nullopt, kOtherRows);
  // Scores that one program has scaled are further apart.
  return near ? near : clearly_nearer(data_a->view, data_b->view, cells, tolerance_(a), std::nullopt, kMuchNearer);
}

std::optional<Acceptance> ValueJudge::judge_statistics(const RecordRow& a, const RecordRow& b, Evidence evidence) {
  const bool same_shape = a.desc().shape == b.desc().shape;
  if (!same_digest(a, b) && !(holds(evidence) && same_shape) && !close_statistics(a, b)) return std::nullopt;
  Acceptance accepted;
  accepted.order.reshaped = !same_shape;
  return accepted;
}

std::optional<Acceptance> ValueJudge::judge_data(const OrderedTensor& a, const OrderedTensor& b, const ToleranceRule& tolerance,
                                                 Evidence evidence) {
  std::vector<TensorOrder> orders = possible_orders(a, b);
  const bool same_shape = a.view.desc.shape == b.view.desc.shape;
  const bool only_reshaped = !orders.empty() && orders.front().reshaped;
  const bool trusted = evidence == Evidence::kProgram || (evidence == Evidence::kName && same_shape) || orders.size() == 1 || only_reshaped;
  std::optional<Acceptance> plain;
  for (const TensorOrder& order : orders) {
    const bool first = &order == &orders.front();
    const bool wanted = first && trusted && holds(evidence);
    if (!wanted && sampled_difference(a, b, order) > 2 * kClose && dtype_info(a.view.desc.dtype).kind != DTypeKind::kString) continue;
    Result<Difference> difference = compare_in_order(a, b, order, {.tolerance = tolerance, .a = {}, .b = {}, .permutation = {}});
    if (!difference.ok()) continue;
    const bool enough = is_close(*difference);
    Acceptance accepted{order, *std::move(difference)};
    if (enough) return accepted;
    if (wanted) plain = std::move(accepted);
    // The author's own name with the author's own shape needs no other order.
    if (plain && evidence == Evidence::kName && same_shape) break;
  }
  constexpr double kOfCoarseCodes = 0.3;
  const std::vector<Arrangement> rotary = rotary_orders(a.view, b.view, holds(evidence) ? kOfCoarseCodes : kNearNorm);
  if (auto close = nearest_arrangement(a.view, b.view, rotary, tolerance, kClose)) return close;
  if (!holds(evidence)) return plain;
  if (!plain || (only_reshaped && orders.size() > 1)) {
    std::optional<Acceptance> nearer = nearest_order(a, b, orders, tolerance);
    if (nearer || !plain) plain = std::move(nearer);
  }
  return clearly_nearer(a.view, b.view, rotary, tolerance, std::move(plain), kMuchNearer);
}

}  // namespace tensortap
