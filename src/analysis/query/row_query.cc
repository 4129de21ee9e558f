#include "query/row_query.h"

#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "base/text.h"
#include "plan/capture_spec.h"
#include "plan/name_pattern.h"
#include "plan/selector_set.h"
#include "plan/where.h"
#include "query/row_order.h"

namespace tensortap {
namespace {

// The conditions of a query on ops.
class OpFilter {
 public:
  static Result<OpFilter> make(const RowQuery& query);
  [[nodiscard]] bool has_name(const OpInfo& op) const {
    return query_.op.empty() || op.name == query_.op || RE2::PartialMatch(op.name, *name_);
  }
  [[nodiscard]] bool has_type(const OpInfo& op) const { return types_.empty() || std::ranges::find(types_, op.type) != types_.end(); }
  [[nodiscard]] bool has_module(const OpInfo& op) const { return query_.module.empty() || RE2::FullMatch(op.module, *module_); }
  [[nodiscard]] bool keeps(const OpInfo& op) const { return has_name(op) && has_type(op) && has_module(op); }
  [[nodiscard]] bool keeps_all() const { return query_.op.empty() && types_.empty() && query_.module.empty(); }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }

 private:
  RowQuery query_;
  std::vector<std::string> types_;
  std::unique_ptr<RE2> name_;
  std::unique_ptr<RE2> module_;
};

Result<OpFilter> OpFilter::make(const RowQuery& query) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  OpFilter filter;
  filter.query_ = query;
  if (!query.type.empty()) {
    for (const std::string_view type : split(query.type, ',')) filter.types_.emplace_back(type);
  }
  filter.name_ = std::make_unique<RE2>(query.op, quiet);
  filter.module_ = std::make_unique<RE2>(module_pattern(query.module), quiet);
  if (!filter.name_->ok()) return invalid_argument(concat("op ", quote(query.op), ": not a regular expression: ", filter.name_->error()));
  return filter;
}

}  // namespace

// The questions about ops are answered once for each op.
struct RowFilter::Conditions {
  struct Slot {
    SlotKind kind;
    int64_t index;  // -1 = every one
  };
  const DumpIndex* dump;
  std::vector<bool> ops = {};  // empty = every op
  std::vector<Slot> slots = {};
  StepSet steps = StepSet::all();
  bool all_steps = true;
  int64_t first_step = std::numeric_limits<int64_t>::min();
  std::unique_ptr<WhereExpression> where = {};

  Status choose_slots(const std::string& text);
  void choose_last(uint64_t count);
};

RowFilter::RowFilter(std::unique_ptr<Conditions> conditions) : conditions_(std::move(conditions)) {}
RowFilter::RowFilter(RowFilter&&) noexcept = default;
RowFilter& RowFilter::operator=(RowFilter&&) noexcept = default;
RowFilter::~RowFilter() = default;

Status RowFilter::Conditions::choose_slots(const std::string& text) {
  if (text.empty()) return {};
  for (const std::string_view word : split(text, ',')) {
    Slot slot{SlotKind::kOutput, -1};
    uint32_t index = 0;
    const bool exact = parse_slot(word, slot.kind, index);
    if (!exact && !parse_slot(concat(word, "0"), slot.kind, index)) {
      return invalid_argument(concat("slot ", word, ": a slot is in, out, weight or grad, or one of them with its number, such as out0"));
    }
    slot.index = exact ? int64_t{index} : -1;
    slots.push_back(slot);
  }
  return {};
}

void RowFilter::Conditions::choose_last(uint64_t count) {
  std::set<int64_t> last;
  for (const RecordRow& row : dump->rows()) {
    if (!all_steps && !steps.contains(row.step)) continue;
    last.insert(row.step);
    if (last.size() > count) last.erase(last.begin());
  }
  if (!last.empty()) first_step = *last.begin();
}

Result<RowFilter> RowFilter::make(const RowQuery& query, const DumpIndex& dump) {
  auto conditions = std::make_unique<Conditions>(Conditions{.dump = &dump});
  TENSORTAP_ASSIGN_OR_RETURN(const OpFilter ops, OpFilter::make(query));
  if (!ops.keeps_all()) {
    for (const OpInfo& op : dump.ops()) conditions->ops.push_back(ops.keeps(op));
    // A row that names no op is of none of those that were asked for.
    if (conditions->ops.empty()) conditions->ops.push_back(false);
  }
  TENSORTAP_RETURN_IF_ERROR(conditions->choose_slots(query.slot));
  if (!query.step.empty()) {
    auto steps = StepSet::parse(query.step);
    if (!steps.ok()) return steps.status().with_context("step");
    conditions->steps = *std::move(steps);
    conditions->all_steps = conditions->steps.is_all();
  }
  if (query.last > 0) conditions->choose_last(query.last);
  if (!query.where.empty()) {
    auto where = WhereExpression::parse(query.where);
    if (!where.ok()) return where.status().with_context("where");
    conditions->where = *std::move(where);
  }
  return RowFilter(std::move(conditions));
}

bool RowFilter::keeps(const RecordRow& row) const {
  const Conditions& asked = *conditions_;
  if (!asked.ops.empty() && (row.op >= asked.ops.size() || !asked.ops[row.op])) return false;
  if (row.step < asked.first_step || (!asked.all_steps && !asked.steps.contains(row.step))) return false;
  if (!asked.slots.empty() && std::ranges::none_of(asked.slots, [&](const Conditions::Slot& slot) {
        return row.slot_kind == static_cast<uint8_t>(slot.kind) && (slot.index < 0 || row.slot_index == slot.index);
      })) {
    return false;
  }
  return asked.where == nullptr || asked.where->matches(row, op_of(*asked.dump, row));
}

Status check_query(const RowQuery& query) {
  class NoDump : public DumpIndex {
    std::string_view layout() const override { return ""; }
    std::span<const RecordRow> rows() const override { return {}; }
    std::span<const OpInfo> ops() const override { return {}; }
    Result<RecordData> data(size_t) const override { return not_found(""); }
    std::string file(size_t) const override { return ""; }
    std::string manifest() const override { return "{}"; }
    std::span<const std::string> problems() const override { return {}; }
    std::vector<uint64_t> histogram(size_t) const override { return {}; }
  };
  return RowFilter::make(query, NoDump()).status();
}

uint64_t count_undecided(std::span<const DumpIndex* const> dumps, const RowQuery& query) {
  const auto where = query.where.empty() ? not_found("") : WhereExpression::parse(query.where);
  if (!where.ok() || (*where)->needed_stats() == 0) return 0;
  RowQuery rest = query;
  rest.where.clear();
  uint64_t count = 0;
  for (const DumpIndex* dump : dumps) {
    const auto filter = RowFilter::make(rest, *dump);
    if (!filter.ok()) return 0;
    count += static_cast<uint64_t>(std::ranges::count_if(dump->rows(), [&](const RecordRow& row) {
      uint32_t missing = (*where)->needed_stats() & ~row.stats.valid;
      if (!is_floating(static_cast<DType>(row.dtype))) missing &= ~uint32_t{kStatNonFinite};
      const bool has_values = row.numel > 0 && (row.flags & kRecordUnwritten) == 0;
      return missing != 0 && has_values && filter->keeps(row) && !(*where)->matches(row, op_of(*dump, row));
    }));
  }
  return count;
}

bool chooses_ops(const RowQuery& query) { return !concat(query.op, query.type, query.module).empty(); }

bool is_selection(const RowQuery& query) {
  return query.last > 0 || chooses_ops(query) || !concat(query.step, query.slot, query.where).empty();
}

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

namespace {

// The names themselves and, where none of these is near, their last parts: a pattern need not be the whole name.
std::string nearest_of(const std::string& wanted, const std::vector<std::string>& names) {
  const std::string whole = did_you_mean(wanted, names);
  if (!whole.empty()) return whole;
  std::vector<std::string> last_parts;
  for (const std::string& name : names) {
    const size_t separator = name.find_last_of("/.");
    if (separator != std::string::npos) last_parts.push_back(name.substr(separator + 1));
  }
  return did_you_mean(wanted, last_parts);
}

std::vector<std::string> distinct(std::span<const DumpIndex* const> dumps, std::string OpInfo::*member) {
  std::set<std::string> names;
  for (const DumpIndex* dump : dumps) {
    for (const OpInfo& op : dump->ops()) names.insert(op.*member);
  }
  names.erase("");
  return {names.begin(), names.end()};
}

// The names of ops, types and modules of a query that no op has.
std::vector<std::string> unknown_names(std::span<const DumpIndex* const> dumps, const RowQuery& query) {
  const auto filter = OpFilter::make(query);
  if (!filter.ok()) return {};
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(dumps, [&](const DumpIndex* dump) { return std::ranges::any_of(dump->ops(), holds); });
  };
  std::vector<std::string> sentences;
  if (!query.op.empty() && !any([&](const OpInfo& op) { return filter->has_name(op); })) {
    sentences.push_back(concat("no op is, or matches, ", quote(query.op), ".", nearest_of(query.op, distinct(dumps, &OpInfo::name))));
  }
  for (const std::string& type : filter->types()) {
    if (any([&](const OpInfo& op) { return op.type == type; })) continue;
    sentences.push_back(concat("no op has the type ", quote(type), ".", did_you_mean(type, distinct(dumps, &OpInfo::type))));
  }
  if (!query.module.empty() && !any([&](const OpInfo& op) { return filter->has_module(op); })) {
    std::vector<std::string> modules;
    for (const DumpIndex* dump : dumps) std::ranges::move(all_modules(dump->ops()), std::back_inserter(modules));
    sentences.push_back(modules.empty()
                            ? std::string("the dump names no modules")
                            : concat("no module is, or lies in, ", quote(query.module), ".", nearest_of(query.module, modules)));
  }
  return sentences;
}

bool has_rows(std::span<const DumpIndex* const> dumps, RowQuery query) {
  query.limit = 1;
  const auto rows = select_rows(dumps, query);
  return !rows.ok() || !rows->empty();
}

// "steps 0 to 9"
std::string steps_text(std::span<const DumpIndex* const> dumps) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const DumpIndex* dump : dumps) {
    for (const RecordRow& row : dump->rows()) {
      first = std::min(first, row.step);
      last = std::max(last, row.step);
    }
  }
  return first == last ? concat("step ", first) : concat("steps ", first, " to ", last);
}

}  // namespace

std::vector<std::string> unmatched_names(std::span<const DumpIndex* const> dumps, const RowQuery& query) {
  if (concat(query.op, query.type, query.module, query.step, query.slot).empty()) return {};
  std::vector<std::string> sentences = unknown_names(dumps, query);
  if (!sentences.empty()) return sentences;
  const RowQuery all = {
      .op = query.op, .type = query.type, .module = query.module, .step = query.step, .last = query.last, .slot = query.slot};
  if (has_rows(dumps, all)) return {};
  if (std::ranges::all_of(dumps, [](const DumpIndex* dump) { return dump->rows().empty(); })) return {"the dump has no records"};
  if (!has_rows(dumps, {.step = query.step})) {
    sentences.push_back(concat("no record is of step ", quote(query.step), ": the dump has ", steps_text(dumps)));
  }
  if (!has_rows(dumps, {.slot = query.slot})) sentences.push_back(concat("no record is of slot ", quote(query.slot)));
  if (sentences.empty()) sentences.emplace_back("each of these options chooses records, but no record meets all");
  return sentences;
}

}  // namespace tensortap
