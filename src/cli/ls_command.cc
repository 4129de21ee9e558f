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
#include "cli/ls_table.h"
#include "cli/row_sort.h"
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
  std::string columns;
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

std::string count_text(size_t shown, size_t all, const std::vector<std::string>& left_out) {
  std::string text = fmt::format("{} of {} records", shown, all);
  if (!left_out.empty()) text += fmt::format("; too narrow for {} (--columns chooses)", join(left_out, ", "));
  return text;
}

Result<ExitCode> list(const LsOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(RowOrder order, RowOrder::parse(options.sort));
  TENSORTAP_ASSIGN_OR_RETURN(const auto columns, choose_columns(options.columns, order.key()));
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_for_reading(terminal, options.dump));
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(options, *dump));
  const auto rows = dump->rows();
  std::vector<uint32_t> chosen;
  const size_t enough = order.is_natural() && options.limit > 0 ? options.limit : rows.size();
  for (size_t i = 0; i < rows.size() && chosen.size() < enough; ++i) {
    if (filter.keeps(rows[i])) chosen.push_back(static_cast<uint32_t>(i));
  }
  order.sort(*dump, chosen, options.limit);
  std::vector<std::string> left_out;
  if (terminal.json) {
    for (const uint32_t index : chosen) terminal.json_line(record_json(*dump, index));
  } else if (!chosen.empty()) {
    left_out = print_rows(terminal, *dump, chosen, columns, !options.columns.empty());
  }
  terminal.flush();
  terminal.note(count_text(chosen.size(), rows.size(), left_out));
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
  app.add_option("--columns", options->columns, "Show these columns, such as op,slot,max. Of: " + column_names_text())->type_name("A,B");
  app.add_option("--limit", options->limit, "At most this many records")->type_name("N")->check(in_range(1, kMostListed));
  return [options](Terminal& terminal) { return list(*options, terminal); };
}

}  // namespace tensortap::cli
