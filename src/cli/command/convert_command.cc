// `tensortap convert`: tensor files and dumps into other formats and layouts.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/text/arguments.h"
#include "cli/text/selection_options.h"
#include "convert/convert.h"
#include "convert/layout_losses.h"
#include "convert/node_data.h"
#include "read/dump_parts.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostFailures = 10;  // that are reported one by one

struct ConvertOptions {
  std::vector<std::string> paths;
  std::string to = "npy";
  std::string order;
  std::string order_now;
  std::string shape;
  std::string slot;
  bool losses = false;
  uint32_t threads = 2;
  uint64_t part_bytes = ConvertRequest().part_bytes;
  std::string key;
  RowQuery query;
  std::string graph;
};

Result<std::optional<DataOrder>> read_order(const std::string& text, const char* option) {
  if (text.empty()) return std::optional<DataOrder>();
  const std::optional<DataOrder> order = data_order_from_name(text);
  if (!order) {
    return invalid_argument(fmt::format(
        "{}: there is no {}; there are ND, NCHW, NHWC, HWCN, NCDHW, NDHWC, NC1HWC0, NDC1HWC0, FRACTAL_Z, FRACTAL_NZ", option, quote(text)));
  }
  return order;
}

Result<ConvertRequest> read_request(const ConvertOptions& options) {
  if (options.paths.size() < 2) return invalid_argument("give what to convert, and where to");
  ConvertRequest request;
  request.sources.assign(options.paths.begin(), options.paths.end() - 1);
  request.target = options.paths.back();
  request.to = options.to;
  request.slot = options.slot;
  request.threads = std::max(options.threads, 1U);
  request.part_bytes = options.part_bytes;
  request.key = options.key;
  request.query = options.query;
  request.graph = options.graph;
  TENSORTAP_ASSIGN_OR_RETURN(request.order, read_order(options.order, "--data-format"));
  TENSORTAP_ASSIGN_OR_RETURN(request.order_now, read_order(options.order_now, "--from-format"));
  if (options.shape.empty()) return request;
  for (const std::string_view part : split(options.shape, ',')) {
    int64_t dim = 0;
    if (!parse_integer(trim(part), dim) || dim < 0 || request.shape.size() == kMaxRank) {
      return invalid_argument(fmt::format("--shape: {} is no shape such as 1,3,224,224", quote(options.shape)));
    }
    request.shape.push_back(dim);
  }
  return request;
}

Json convert_json(const ConvertRequest& request, const ConvertReport& report) {
  Json failed = Json::array();
  for (const ConvertFailure& failure : report.failed) failed.push_back({{"source", failure.source}, {"reason", failure.reason}});
  Json losses = Json::array();
  for (const Loss& loss : report.losses) {
    losses.push_back({{"kind", loss.kind}, {"what", loss.what}, {"records", loss.records}, {"kept_beside", loss.kept_beside}});
  }
  return {{"target", request.target},    {"to", request.to},
          {"converted", report.sources}, {"files", report.written},
          {"bytes", report.bytes},       {"replaced", report.replaced},
          {"losses", std::move(losses)}, {"notes", report.notes},
          {"failed", std::move(failed)}, {"dump", report.source ? completeness_json(*report.source) : Json(nullptr)}};
}

void print_failures(const Terminal& terminal, const ConvertReport& report) {
  for (size_t i = 0; i < std::min(report.failed.size(), kMostFailures); ++i) {
    const auto& [source, reason] = report.failed[i];
    terminal.warn(printable(reason.starts_with(source) ? reason : fmt::format("{}: {}", source, reason)));
  }
  if (report.failed.size() > kMostFailures) terminal.warn(fmt::format("and {} more failed", report.failed.size() - kMostFailures));
}

Json losses_json() {
  Json pairs = Json::array();
  for (const Layout& from : layouts()) {
    for (const Layout& to : layouts()) {
      if (from.name == to.name || to.create == nullptr) continue;
      Json losses = Json::array();
      for (const Loss& loss : losses_between(from, to)) {
        losses.push_back({{"kind", loss.kind}, {"what", loss.what}, {"kept_beside", loss.kept_beside}});
      }
      pairs.push_back({{"from", from.name}, {"to", to.name}, {"losses", std::move(losses)}});
    }
  }
  return pairs;
}

ExitCode print_losses(Terminal& terminal) {
  if (terminal.json) {
    terminal.json_line(losses_json());
  } else {
    terminal.out(loss_table());
  }
  return ExitCode::kFine;
}

// One dump is converted at a time.
void warn_of_other_parts(const std::string& source, const Terminal& terminal) {
  const auto parts = find_parts(source);
  if (!parts.ok() || parts->size() < 2) return;
  terminal.warn(
      printable(fmt::format("{} is converted alone: {} other parts of the dump are not, such as {}; convert each by its own folder",
                            part_title(parts->front()), parts->size() - 1, parts->back().path)));
}

Result<ExitCode> run_convert(const ConvertOptions& options, Terminal& terminal) {
  if (options.losses) return print_losses(terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const ConvertRequest request, read_request(options));
  if (const Status query = check_query(options.query); !query.ok()) return in_option_words(query);
  Progress progress(terminal);
  const auto tell = [&progress](uint64_t done, uint64_t total) { progress.update("converting", done, total); };
  TENSORTAP_ASSIGN_OR_RETURN(const ConvertReport report, convert(request, tell));
  progress.finish();
  AnsweredDumps dumps;
  if (report.source) dumps.add(request.sources.front(), *report.source);
  dumps.print_state(terminal);
  print_failures(terminal, report);
  for (const std::string& note : report.notes) terminal.note(printable(note));
  if (report.source) warn_of_other_parts(request.sources.front(), terminal);
  if (terminal.json) {
    terminal.json_line(convert_json(request, report));
  } else {
    const std::string files = report.written > 0 ? fmt::format("{} {}, ", report.written, report.written == 1 ? "file" : "files") : "";
    terminal.line(fmt::format("{}: {} converted, {}{}{}", request.target, report.sources, files, bytes_text(report.bytes),
                              report.failed.empty() ? "" : fmt::format(", {} failed", report.failed.size())));
  }
  return report.failed.empty() ? ExitCode::kFine : ExitCode::kFailed;
}

}  // namespace

Action declare_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  add_words(app, "paths", options->paths, "SOURCE... TARGET", "What to convert: files, or one folder; and the folder or file to write");
  add_choice(app, "--to", options->to, conversion_targets(), "Format or layout to convert to (npy)");
  app.add_option("-f,--data-format", options->order, "Put the elements into this order, such as NCHW")->type_name("ORDER");
  app.add_option("--from-format", options->order_now, "The order that they are in, for files that do not store it (ND)")
      ->type_name("ORDER");
  app.add_option("-s,--shape", options->shape, "The shape without blocks, where files do not store it, such as 1,3,224,224")
      ->type_name("DIMS");
  app.add_option("--slot", options->slot, "Only this tensor of each file, such as input.0 or output.1")->type_name("SLOT");
  app.add_option("--part-bytes", options->part_bytes, "About how large a safetensors file gets before the next part begins (5000000000)")
      ->type_name("N")
      ->check(in_range(1, int64_t{1} << 62));
  app.add_option("--key", options->key, "The statistic of model-explorer (absmax). One of: " + join(node_data_keys(), ", "))
      ->type_name("KEY");
  add_op_options(app, options->query);
  add_step_options(app, options->query);
  app.add_option("--graph", options->graph, "The graph's id in Model Explorer, such as main (whichever graph is open)")->type_name("ID");
  app.add_option("--threads", options->threads, "Threads for many files (2)")->type_name("N")->check(in_range(1, 256));
  app.add_flag("--losses", options->losses, "Print what is lost between each pair of layouts, and convert nothing");
  return [options](Terminal& terminal) { return run_convert(*options, terminal); };
}

}  // namespace tensortap::cli
