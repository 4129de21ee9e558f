#include "query/row_query.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/text.h"
#include "plan/capture_spec.h"
#include "plan/where.h"
#include "query/row_order.h"

namespace tensortap {
namespace {

// The questions about ops are answered once for each op.
class RowFilter {
 public:
  static Result<RowFilter> make(const RowQuery& query, const DumpIndex& dump);
  [[nodiscard]] bool keeps(const RecordRow& row) const;

 private:
  explicit RowFilter(const DumpIndex& dump) : dump_(&dump) {}
  Status choose_ops(const RowQuery& query);
  Status choose_slots(const std::string& text);

  struct Slot {
    SlotKind kind;
    int64_t index;  // -1 = every one
  };
  const DumpIndex* dump_;
  std::vector<bool> ops_;  // empty = every op
  std::vector<Slot> slots_;
  StepSet steps_ = StepSet::all();
  bool all_steps_ = true;
  std::unique_ptr<WhereExpression> where_;
};

Status RowFilter::choose_ops(const RowQuery& query) {
  if (query.op.empty() && query.type.empty()) return {};
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const RE2 pattern(query.op, quiet);
  if (!pattern.ok()) return invalid_argument(concat("op ", quote(query.op), ": not a regular expression: ", pattern.error()));
  const auto types = split(query.type, ',');
  for (const OpInfo& op : dump_->ops()) {
    const bool named = query.op.empty() || op.name == query.op || RE2::PartialMatch(op.name, pattern);
    const bool typed = query.type.empty() || std::ranges::find(types, std::string_view(op.type)) != types.end();
    ops_.push_back(named && typed);
  }
  return {};
}

Status RowFilter::choose_slots(const std::string& text) {
  if (text.empty()) return {};
  for (const std::string_view word : split(text, ',')) {
    Slot slot{SlotKind::kOutput, -1};
    uint32_t index = 0;
    const bool exact = parse_slot(word, slot.kind, index);
    if (!exact && !parse_slot(concat(word, "0"), slot.kind, index)) {
      return invalid_argument(concat("slot ", word, ": a slot is in, out, weight or grad, or one of them with its number, such as out0"));
    }
    slot.index = exact ? int64_t{index} : -1;
    slots_.push_back(slot);
  }
  return {};
}

Result<RowFilter> RowFilter::make(const RowQuery& query, const DumpIndex& dump) {
  RowFilter filter(dump);
  TENSORTAP_RETURN_IF_ERROR(filter.choose_ops(query));
  TENSORTAP_RETURN_IF_ERROR(filter.choose_slots(query.slot));
  if (!query.step.empty()) {
    auto steps = StepSet::parse(query.step);
    if (!steps.ok()) return steps.status().with_context("step");
    filter.steps_ = *std::move(steps);
    filter.all_steps_ = filter.steps_.is_all();
  }
  if (!query.where.empty()) {
    auto where = WhereExpression::parse(query.where);
    if (!where.ok()) return where.status().with_context("where");
    filter.where_ = *std::move(where);
  }
  return filter;
}

bool RowFilter::keeps(const RecordRow& row) const {
  if (!ops_.empty() && (row.op >= ops_.size() || !ops_[row.op])) return false;
  if (!all_steps_ && !steps_.contains(row.step)) return false;
  if (!slots_.empty() && std::ranges::none_of(slots_, [&](const Slot& slot) {
        return row.slot_kind == static_cast<uint8_t>(slot.kind) && (slot.index < 0 || row.slot_index == slot.index);
      })) {
    return false;
  }
  return where_ == nullptr || where_->matches(row, op_of(*dump_, row));
}

}  // namespace

Result<std::vector<uint32_t>> select_rows(const DumpIndex& dump, const RowQuery& query) {
  TENSORTAP_ASSIGN_OR_RETURN(const RowOrder order, RowOrder::parse(query.sort));
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(query, dump));
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  const size_t wanted = query.limit == 0 || query.limit > kAll - query.offset ? kAll : query.offset + query.limit;
  const auto rows = dump.rows();
  std::vector<uint32_t> chosen;
  const size_t enough = order.is_natural() ? wanted : kAll;
  for (size_t i = 0; i < rows.size() && chosen.size() < enough; ++i) {
    if (filter.keeps(rows[i])) chosen.push_back(static_cast<uint32_t>(i));
  }
  order.sort(dump, chosen, wanted);
  chosen.erase(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(std::min(query.offset, chosen.size())));
  return chosen;
}

Result<std::vector<RowOfDump>> select_rows(std::span<const DumpIndex* const> dumps, const RowQuery& query) {
  TENSORTAP_ASSIGN_OR_RETURN(const RowOrder order, RowOrder::parse(query.sort));
  RowQuery each = query;
  each.offset = 0;
  // A row chosen among all rows is also chosen among the rows of its dump.
  each.limit = query.limit == 0 ? 0 : query.offset + query.limit;
  std::vector<RowOfDump> chosen;
  for (uint32_t dump = 0; dump < dumps.size(); ++dump) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::vector<uint32_t> rows, select_rows(*dumps[dump], each));
    for (const uint32_t row : rows) chosen.push_back({dump, row});
  }
  order.sort(dumps, chosen, each.limit == 0 ? chosen.size() : each.limit);
  chosen.erase(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(std::min(query.offset, chosen.size())));
  return chosen;
}

}  // namespace tensortap
