// `tensortap replay`: ops of a dump run again, from the inputs that were recorded.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/files/part_access.h"
#include "cli/launch/replay_runtime.h"
#include "cli/launch/replay_torch.h"
#include "cli/text/arguments.h"
#include "cli/text/replay_text.h"
#include "cli/text/selection_options.h"
#include "query/chosen_dump.h"
#include "query/row_query.h"
#include "replay/minimal_op.h"
#include "replay/replay.h"
#include "replay/replay_json.h"
#include "replay/reproducer.h"

namespace tensortap::cli {
namespace {

constexpr size_t kReplayTableLines = 20;

struct ReplayArguments {
  std::string dump;
  std::string part;
  std::string op;
  std::string runtime;
  std::string with;
  std::vector<std::string> custom_ops;
  bool all = false;
  bool minimize = false;
  std::string emit;
  RowQuery query;
};

// As the other program takes them.
std::vector<std::string> selection_words(const RowQuery& query) {
  std::vector<std::string> words;
  for (const auto& [option, value] : {std::pair{"--ops", query.op},
                                      {"--types", query.type},
                                      {"--modules", query.module},
                                      {"--steps", query.step},
                                      {"--last", query.last == 0 ? std::string() : to_text(query.last)}}) {
    if (!value.empty()) words.push_back(concat(option, "=", value));
  }
  return words;
}

// The executions of which an output is chosen.
Status keep_chosen(const DumpIndex& dump, const RowQuery& query, std::vector<RecordedOp>& ops) {
  if (!is_selection(query)) return {};
  if (const Status chosen = check_choice(dump, query); !chosen.ok()) return in_option_words(chosen);
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(query, dump));
  std::erase_if(ops, [&](const RecordedOp& op) {
    return std::ranges::none_of(op.outputs, [&](const RecordedOutput& output) { return filter.keeps(dump.rows()[output.row]); });
  });
  return ops.empty() ? not_found("no output of an op is among the records that are chosen") : Status();
}

// On --runtime, or what made the dump of --with, or what made the dump itself.
Result<std::unique_ptr<OnnxReplayRuntime>> open_runtime(const ReplayArguments& arguments, const RuntimeOfDump& recorded,
                                                        const Terminal& terminal) {
  const ReplayRuntimeOptions options{arguments.runtime, arguments.custom_ops, recorded.threads, recorded.optimization};
  if (arguments.with.empty()) return open_replay_runtime(options, recorded, terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const auto other, open_for_reading(terminal, arguments.with));
  const RuntimeOfDump maker = runtime_of(*other);
  if (!is_of_onnxruntime(maker)) return io_error(fmt::format("{}: not made by ONNX Runtime", arguments.with));
  return open_replay_runtime(options, maker, terminal);
}

// The dump whose ops run again, and how far the answer holds.
struct ReplayedDump {
  const DumpIndex& index;
  const AnsweredDumps& state;
};

ExitCode verdict_of(const ReplaySummary& summary) {
  if (summary.replayed() == 0) return ExitCode::kFailed;
  return summary.differing() > 0 ? ExitCode::kFound : ExitCode::kFine;
}

// Runs nothing: who gets the files finds out.
Result<ExitCode> emit(const ReplayArguments& arguments, const DumpIndex& dump, const RecordedOp& op, Terminal& terminal) {
  auto files = write_reproducer(dump, op, arguments.emit);
  if (files.status().code() == StatusCode::kUnsupported) return io_error(files.status().message());
  if (!files.ok()) return files.status();
  if (terminal.json) {
    terminal.json_line({{"op", recorded_op_name(dump, op)}, {"files", *files}});
  } else {
    for (const std::string& file : *files) terminal.line(file);
  }
  return ExitCode::kFine;
}

Json minimal_json(const RecordedOp& op, const DumpIndex& dump, const MinimalOp& minimal) {
  Json tensors = Json::array();
  for (const CutTensor& tensor : minimal.tensors) {
    tensors.push_back({{"slot", tensor.slot}, {"shape", tensor.shape}, {"first", tensor.first}, {"count", tensor.count}});
  }
  const Difference& difference = minimal.difference;
  return {{"op", recorded_op_name(dump, op)},
          {"type", dump.ops()[op.op].type},
          {"tensors", std::move(tensors)},
          {"differing_slot", minimal.differing.slot},
          {"differing", difference.differing},
          {"compared", difference.compared},
          {"max_abs", json_number(difference.max_abs)},
          {"relative_l2", json_number(difference.relative_l2)},
          {"runs", minimal.runs}};
}

// The first of the executions that gives other bits, cut down; nothing when none does. Errors: why none of them can be run.
Result<std::optional<MinimalOp>> find_minimal(const DumpIndex& dump, const std::vector<RecordedOp>& ops, ReplayRuntime& runtime,
                                              const Terminal& terminal, const RecordedOp*& found) {
  Progress progress(terminal);
  const auto tell = [&progress](size_t runs) { progress.update("runs of the op", runs, 0); };
  Status refused;
  bool any_equal = false;
  for (const RecordedOp& op : ops) {
    auto minimal = op.obstacle.empty() ? minimal_op(dump, op, runtime, tell) : Result<std::optional<MinimalOp>>(unsupported(op.obstacle));
    if (!minimal.ok()) {
      if (refused.ok()) refused = minimal.status().with_context(recorded_op_name(dump, op));
      continue;
    }
    found = &op;
    if (*minimal) return minimal;
    any_equal = true;
  }
  if (any_equal) return std::optional<MinimalOp>();
  return io_error(refused.message());
}

Result<ExitCode> minimize(const ReplayArguments& arguments, const ReplayedDump& replayed, const std::vector<RecordedOp>& ops,
                          OnnxReplayRuntime& runtime, Terminal& terminal) {
  const DumpIndex& dump = replayed.index;
  if (!arguments.emit.empty()) TENSORTAP_RETURN_IF_ERROR(check_reproducer_path(arguments.emit));
  const RecordedOp* op = nullptr;
  TENSORTAP_ASSIGN_OR_RETURN(const std::optional<MinimalOp> minimal, find_minimal(dump, ops, runtime, terminal, op));
  if (!minimal) {
    if (terminal.json) {
      terminal.json_line({{"op", arguments.op},
                          {"runtime", runtime.source()},
                          {"differing", 0},
                          {"files", Json::array()},
                          {"dump", replayed.state.json()}});
    } else {
      terminal.line(
          printable(fmt::format("{}: every bit comes out equal on {}; there is no difference to keep", arguments.op, runtime.source())));
    }
    return ExitCode::kFine;
  }
  std::vector<std::string> files;
  if (!arguments.emit.empty()) {
    auto written = write_reproducer(*minimal->dump, minimal->op, arguments.emit);
    if (written.status().code() == StatusCode::kUnsupported) return io_error(written.status().message());
    if (!written.ok()) return written.status();
    files = *std::move(written);
  }
  Json json = minimal_json(*op, dump, *minimal);
  json["runtime"] = runtime.source();
  json["recorded"] = runtime_of(dump).source;
  json["dump"] = replayed.state.json();
  json["files"] = files;
  if (terminal.json) {
    terminal.json_line(json);
  } else {
    print_minimal(terminal, json);
  }
  return ExitCode::kFound;
}

Result<ExitCode> replay_onnx(const ReplayArguments& arguments, const ReplayedDump& replayed, const RuntimeOfDump& recorded,
                             Terminal& terminal) {
  const DumpIndex& dump = replayed.index;
  ReplaySelection selection;
  if (!arguments.op.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(selection, parse_replay_selection(dump, arguments.op));
  }
  std::vector<RecordedOp> ops = find_recorded_ops(dump, selection);
  if (ops.empty())
    return io_error(fmt::format("{}: no output of {} is in the dump", arguments.dump, arguments.op.empty() ? "an op" : arguments.op));
  TENSORTAP_RETURN_IF_ERROR(keep_chosen(dump, arguments.query, ops));
  if (!arguments.emit.empty() && !arguments.minimize) return emit(arguments, dump, ops.front(), terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const auto runtime, open_runtime(arguments, recorded, terminal));
  if (recorded.opset.empty()) {
    terminal.note(fmt::format("the dump does not list its operator sets; version {} of ai.onnx is assumed", kAssumedOpset));
  }
  if (arguments.minimize) return minimize(arguments, replayed, ops, *runtime, terminal);
  Progress progress(terminal);
  ReplayOptions how;
  how.progress = [&progress](size_t done, size_t all) { progress.update("replaying", done, all); };
  ReplaySummary summary(dump);
  std::vector<Json> table;
  uint64_t left_out = 0;
  replay_ops(dump, ops, *runtime, how, [&](const ReplayedValue& value) {
    summary.add(value);
    if (terminal.json) return terminal.json_line(replayed_json(dump, value));
    const bool is_shown = arguments.all || !arguments.op.empty() || value.outcome == ReplayOutcome::kDiffers;
    if (is_shown && (arguments.all || table.size() < kReplayTableLines)) {
      table.push_back(replayed_json(dump, value));
    } else if (is_shown) {
      ++left_out;
    }
  });
  progress.finish();
  Json json = summary.to_json();
  json["runtime"] = runtime->source();
  json["recorded"] = recorded.source;
  json["dump"] = replayed.state.json();
  if (terminal.json) {
    terminal.json_line({{"summary", json}});
    return verdict_of(summary);
  }
  print_replay(terminal, json);
  if (!table.empty()) {
    terminal.line();
    print_replayed(terminal, table);
  }
  if (left_out > 0) terminal.note(fmt::format("{} more; --all shows every output", left_out));
  return verdict_of(summary);
}

Result<ExitCode> replay_pytorch(const ReplayArguments& arguments, const DumpIndex& dump, const Terminal& terminal) {
  if (const Status chosen = check_choice(dump, arguments.query); !chosen.ok()) return in_option_words(chosen);
  if (!arguments.with.empty() || !arguments.custom_ops.empty()) {
    return invalid_argument("--with and --custom-ops are for dumps of ONNX Runtime; --runtime names a Python that has torch");
  }
  std::vector<std::string> words = {arguments.dump};
  if (!arguments.op.empty()) words.push_back(arguments.op);
  if (arguments.all) words.emplace_back("--all");
  if (terminal.json) words.emplace_back("--json");
  if (arguments.minimize) words.emplace_back("--minimize");
  if (!arguments.emit.empty()) words.insert(words.end(), {"--emit", arguments.emit});
  for (std::string& word : selection_words(arguments.query)) words.push_back(std::move(word));
  return replay_torch(words, arguments.runtime);
}

// `arguments` name the dump that `replayed` is.
Result<ExitCode> replay_dump(const ReplayArguments& arguments, const ReplayedDump& replayed, Terminal& terminal) {
  replayed.state.print_state(terminal);
  const RuntimeOfDump recorded = runtime_of(replayed.index);
  const bool by_onnxruntime = is_of_onnxruntime(recorded);
  if (!by_onnxruntime && !recorded.source.starts_with("pytorch ")) {
    return io_error(fmt::format("{}: made by {}; only dumps of ONNX Runtime and PyTorch can be replayed", arguments.dump,
                                recorded.source.empty() ? "a runtime that it does not name" : quote(recorded.source)));
  }
  // The other program prints, too.
  if (!by_onnxruntime) terminal.flush();
  // Files that were asked for are no verdict.
  const bool judges = arguments.emit.empty() || arguments.minimize;
  TENSORTAP_ASSIGN_OR_RETURN(const ExitCode code, by_onnxruntime ? replay_onnx(arguments, replayed, recorded, terminal)
                                                                 : replay_pytorch(arguments, replayed.index, terminal));
  return judges ? replayed.state.code_of(code) : code;
}

// Those that have the op, or records, that are asked for.
std::vector<OpenPart> asked_of(std::vector<OpenPart> parts, const ReplayArguments& arguments) {
  const std::string& op = arguments.op;
  if (!op.empty()) std::erase_if(parts, [&op](const OpenPart& one) { return !parse_replay_selection(*one.dump, op).ok(); });
  std::erase_if(parts, [&](const OpenPart& one) { return !check_choice(*one.dump, arguments.query).ok(); });
  return parts;
}

// kFound when an op of one part gives other bits, otherwise kFailed when one part could not be replayed.
Result<ExitCode> replay_parts(const ReplayArguments& arguments, const std::vector<OpenPart>& parts, Terminal& terminal) {
  if (parts.size() > 1 && !arguments.emit.empty()) {
    return invalid_argument(fmt::format("{}: {} parts of the dump have it; choose one with --part", arguments.op, parts.size()));
  }
  ExitCode code = ExitCode::kFine;
  for (const OpenPart& one : parts) {
    ReplayArguments of_part = arguments;
    of_part.dump = one.part.path;
    AnsweredDumps state;
    state.add(part_title(one.part), one.dump->completeness());
    terminal.json ? terminal.json_line(part_json(one.part)) : terminal.line(terminal.out_palette().bold(printable(part_title(one.part))));
    const auto of_one = replay_dump(of_part, {*one.dump, state}, terminal);
    if (!of_one.ok()) terminal.warn(printable(of_one.status().message()));
    const ExitCode own = of_one.ok() ? *of_one : ExitCode::kFailed;
    if (code != ExitCode::kFound && own != ExitCode::kFine) code = own;
  }
  return code;
}

Result<ExitCode> replay(const ReplayArguments& arguments, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const AskedParts asked, asked_parts(arguments.dump, arguments.part));
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<OpenPart> open, open_parts(terminal, asked, dumps));
  if (asked.parts.size() == 1) {
    ReplayArguments of_part = arguments;
    of_part.dump = asked.parts.front().path;
    return replay_dump(of_part, {*open.front().dump, dumps}, terminal);
  }
  auto missing = arguments.op.empty() ? Status() : parse_replay_selection(*open.front().dump, arguments.op).status();
  if (missing.ok()) missing = in_option_words(check_choice(*open.front().dump, arguments.query));
  const std::vector<OpenPart> parts = asked_of(std::move(open), arguments);
  if (parts.empty()) return missing;
  TENSORTAP_ASSIGN_OR_RETURN(const ExitCode code, replay_parts(arguments, parts, terminal));
  return dumps.code_of(code);
}

}  // namespace

Action declare_replay(CLI::App& app) {
  const auto arguments = std::make_shared<ReplayArguments>();
  app.add_option("dump", arguments->dump, "Folder of the dump")->type_name(kDump)->required();
  auto* op = app.add_option("op", arguments->op, "The op, as OP, OP@STEP, OP#CALL or OP@STEP#CALL (all ops)")->type_name("OP");
  add_part_option(app, arguments->part);
  std::vector<CLI::Option*> selecting = add_op_options(app, arguments->query);
  for (CLI::Option* one : add_step_options(app, arguments->query)) selecting.push_back(one);
  for (CLI::Option* one : selecting) one->excludes(op);
  app.add_flag("--all", arguments->all, "Replay all ops and show every output, not only those that differ")->excludes(op);
  auto* runtime =
      app.add_option("--runtime", arguments->runtime,
                     "The libonnxruntime to use, or the folder that holds it (the one that made the dump); of PyTorch the Python (python3)")
          ->type_name(kPath);
  app.add_option("--with", arguments->with, "Use the runtime that made this dump")->type_name(kDump)->excludes(runtime);
  add_repeated(app, "--custom-ops", arguments->custom_ops, "LIBRARY", "A library with custom operators of the model; repeatable");
  app.add_option("--emit", arguments->emit, "Write the op as a program (FILE.py, FILE.npz) or a model with test data (FILE.onnx) instead")
      ->type_name(kFile)
      ->needs(op);
  app.add_flag("--minimize", arguments->minimize, "Cut the op down to the smallest part that still gives other bits; --emit writes that")
      ->needs(op);
  return [arguments](Terminal& terminal) { return replay(*arguments, terminal); };
}

}  // namespace tensortap::cli
