// `tensortap ls`: the records of a dump. Rows are looked at where they are mapped; only what is printed is formatted.

#include <fmt/format.h>
#include <re2/re2.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/dump_access.h"
#include "cli/failure_text.h"
#include "cli/row_sort.h"
#include "cli/table.h"
#include "plan/capture_spec.h"
#include "plan/where.h"
#include "read/record_json.h"

namespace tensortap::cli {
namespace {

struct LsOptions {
  std::string dump;
  std::string op;
  std::string type;
  std::string step;
  std::string slot;
  std::string where;
  std::string sort;
  size_t limit = 0;
};

// Which rows are asked for; the questions about ops are answered once for each op.
class RowFilter {
 public:
  static Result<RowFilter> make(const LsOptions& options, const DumpIndex& dump);
  [[nodiscard]] bool keeps(const RecordRow& row) const;

 private:
  explicit RowFilter(const DumpIndex& dump) : dump_(&dump) {}
  Status choose_ops(const LsOptions& options);
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

Status RowFilter::choose_ops(const LsOptions& options) {
  if (options.op.empty() && options.type.empty()) return {};
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const RE2 pattern(options.op, quiet);
  if (!pattern.ok()) return invalid_argument(fmt::format("--op {}: not a regular expression: {}", quote(options.op), pattern.error()));
  const auto types = split(options.type, ',');
  for (const OpInfo& op : dump_->ops()) {
    const bool named = options.op.empty() || op.name == options.op || RE2::PartialMatch(op.name, pattern);
    const bool typed = options.type.empty() || std::ranges::find(types, std::string_view(op.type)) != types.end();
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
      return invalid_argument(
          fmt::format("--slot {}: a slot is in, out, weight or grad, or one of them with its number, such as out0", word));
    }
    slot.index = exact ? int64_t{index} : -1;
    slots_.push_back(slot);
  }
  return {};
}

Result<RowFilter> RowFilter::make(const LsOptions& options, const DumpIndex& dump) {
  RowFilter filter(dump);
  TENSORTAP_RETURN_IF_ERROR(filter.choose_ops(options));
  TENSORTAP_RETURN_IF_ERROR(filter.choose_slots(options.slot));
  if (!options.step.empty()) {
    auto steps = StepSet::parse(options.step);
    if (!steps.ok()) return steps.status().with_context("--step");
    filter.steps_ = *std::move(steps);
    filter.all_steps_ = filter.steps_.is_all();
  }
  if (!options.where.empty()) {
    auto where = WhereExpression::parse(options.where);
    if (!where.ok()) return where.status().with_context("--where");
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

std::vector<Column> columns_for(size_t width, const std::string& sort_key) {
  std::vector<Column> columns = {{"step", true, false},   {"op", false, true},    {"type", false, true}, {"slot", false, false},
                                 {"dtype", false, false}, {"shape", false, true}, {"min", true, false},  {"max", true, false},
                                 {"mean", true, false},   {"nan", true, false},   {"inf", true, false}};
  if (width == 0 || width >= 150) {
    for (const char* name : {"std", "l2", "absmax", "zero"}) columns.insert(columns.end() - 2, {name, true, false});
  }
  const bool there = std::ranges::any_of(columns, [&](const Column& column) { return column.title == sort_key; });
  if (!sort_key.empty() && !there) columns.push_back({sort_key, true, false});
  return columns;
}

std::string slot_text(const RecordRow& row) {
  std::string text = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  if (row.call != 0) text += fmt::format("#{}", row.call);
  if (row.element >= 0) text += fmt::format("[{}]", row.element);
  return text;
}

std::string infinities_text(const TensorStats& stats) {
  if ((stats.valid & (kStatPosInf | kStatNegInf)) == 0) return "-";
  return to_text(stats.pos_inf + stats.neg_inf);
}

std::string cell_text(const DumpIndex& dump, const RecordRow& row, const std::string& column) {
  if (column == "step") return to_text(row.step);
  if (column == "op") return printable(op_of(dump, row).name);
  if (column == "type") return printable(op_of(dump, row).type);
  if (column == "slot") return slot_text(row);
  if (column == "dtype") return std::string(dtype_name(row.desc().dtype));
  if (column == "shape") return row.desc().shape.to_text();
  if (column == "inf") return infinities_text(row.stats);
  if (column == "min" && (row.flags & kRecordUnwritten) != 0) return "unwritten";
  const std::optional<double> value = row_number(row, column);
  return value ? fmt::format("{:.4g}", *value) : "-";
}

void print_table(Terminal& terminal, const DumpIndex& dump, const std::vector<uint32_t>& chosen, const std::string& sort_key) {
  const std::vector<Column> columns = columns_for(terminal.width(), sort_key);
  TablePrinter table(terminal, columns);
  for (const uint32_t index : chosen) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const Column& column : columns) cells.push_back(cell_text(dump, dump.rows()[index], column.title));
    table.add(std::move(cells));
  }
  table.finish();
}

Result<ExitCode> list(const LsOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(RowOrder order, RowOrder::parse(options.sort));
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_for_reading(terminal, options.dump));
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(options, *dump));
  const auto rows = dump->rows();
  std::vector<uint32_t> chosen;
  const size_t enough = order.is_natural() && options.limit > 0 ? options.limit : rows.size();
  for (size_t i = 0; i < rows.size() && chosen.size() < enough; ++i) {
    if (filter.keeps(rows[i])) chosen.push_back(static_cast<uint32_t>(i));
  }
  order.sort(*dump, chosen, options.limit);
  if (terminal.json) {
    for (const uint32_t index : chosen) terminal.json_line(record_json(*dump, index));
  } else if (!chosen.empty()) {
    print_table(terminal, *dump, chosen, order.key());
  }
  terminal.flush();
  terminal.note(fmt::format("{} of {} records", chosen.size(), rows.size()));
  for (const std::string& line : failure_lines(*dump, options.dump)) terminal.note(line);
  return ExitCode::kFine;
}

}  // namespace

Action declare_ls(CLI::App& app) {
  const auto options = std::make_shared<LsOptions>();
  app.add_option("dump", options->dump, "Folder of the dump")->type_name(kDump)->required();
  app.add_option("--op", options->op, "Only ops whose name is, or matches, this regular expression")->type_name("REGEX");
  app.add_option("--type", options->type, "Only ops of these types, such as Conv,Gemm")->type_name("A,B");
  app.add_option("--step", options->step, "Only these steps, such as 0,3-5")->type_name("STEPS");
  app.add_option("--slot", options->slot, "Only these slots, such as out or in0,out1")->type_name("SLOTS");
  app.add_option("--where", options->where, "Only records for which this holds, such as \"nan > 0 or absmax > 6e4\"")->type_name("EXPR");
  app.add_option("--sort", options->sort, "Order by this column; -KEY for the largest first. One of: " + RowOrder::keys_text())
      ->type_name("KEY");
  app.add_option("--limit", options->limit, "At most this many records")->type_name("N")->check(CLI::PositiveNumber);
  return [options](Terminal& terminal) { return list(*options, terminal); };
}

}  // namespace tensortap::cli
