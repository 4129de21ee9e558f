#include "cli/text/selection_options.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/text/arguments.h"

namespace tensortap::cli {

std::vector<CLI::Option*> add_op_options(CLI::App& app, RowQuery& query) {
  return {app.add_option("--ops", query.op, "Only ops whose name is, or matches, this regular expression")->type_name("REGEX"),
          app.add_option("--types", query.type, "Only ops of these types, such as Conv,Gemm")->type_name("A,B"),
          app.add_option("--modules", query.module, "Only ops of these modules and of those inside them, such as \"model.layers.3.*\"")
              ->type_name("GLOB")};
}

std::vector<CLI::Option*> add_step_options(CLI::App& app, RowQuery& query) {
  return {app.add_option("--steps", query.step, "Only these steps, such as 0,3-5")->type_name("STEPS"),
          app.add_option("--last", query.last, "Only the last steps, this many")->type_name("N")->check(in_range(1, kMostListed))};
}

void add_selection_options(CLI::App& app, RowQuery& query) {
  add_op_options(app, query);
  add_step_options(app, query);
  app.add_option("--slots", query.slot, "Only these slots, such as out or in0,out1")->type_name("SLOTS");
  app.add_option("--where", query.where, "Only records for which this holds, such as \"nan > 0 or absmax > 6e4\"")->type_name("EXPR");
}

Status in_option_words(const Status& status) {
  if (status.code() != StatusCode::kInvalidArgument) return status;
  std::string message = concat("--", status.message());
  for (const std::string_view option : {"--op", "--type", "--module", "--step", "--slot"}) {
    const bool is_it = message.starts_with(concat(option, " ")) || message.starts_with(concat(option, ":"));
    if (is_it) return {status.code(), message.insert(option.size(), "s")};
  }
  return {status.code(), message};
}

bool warn_of_unmatched(const Terminal& terminal, std::span<const DumpIndex* const> dumps, const RowQuery& query) {
  const std::vector<std::string> sentences = unmatched_names(dumps, query);
  for (const std::string& sentence : sentences) terminal.warn(printable(sentence));
  return !sentences.empty();
}

}  // namespace tensortap::cli
