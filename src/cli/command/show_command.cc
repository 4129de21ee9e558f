// `tensortap show`: one record.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/files/part_access.h"
#include "cli/text/arguments.h"
#include "cli/text/gather.h"
#include "cli/text/selection_options.h"
#include "cli/text/sketch_text.h"
#include "cli/text/values_json.h"
#include "query/compile_route.h"
#include "query/record_json.h"
#include "query/row_query.h"
#include "query/sketch_json.h"
#include "query/step_requests.h"
#include "query/value_name.h"
#include "read/print_tensor.h"
#include "read/record_histogram.h"
#include "read/tensor_file.h"
#include "stats/digest.h"
#include "stats/histogram.h"
#include "stats/stats.h"
#include "tensor/statistics.h"
#include "trace/waiting_values.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostJsonValues = 10'000;

struct ShowOptions {
  std::string dump;
  std::string part;
  std::string record;
  std::string at;
  std::string request;
  std::string npy;
  int digits = 6;
  RowQuery query;
};

constexpr int kAllDigits = 17;  // of any double

void field(Terminal& terminal, std::string_view name, const std::string& value) {
  if (!value.empty()) terminal.line(terminal.out_palette().bold(fmt::format("{:<12}", name)) + printable(value));
}

std::string originals_text(const DumpIndex& dump, const OpInfo& op) {
  if (op.inserted_by_runtime) return "none: inserted by the runtime";
  std::string text;
  // PyTorch's ops have a source location instead.
  const bool traced =
      dump.layout() == "tap" && op.source_location.empty() && op.module.empty() && op.type != kInputType && op.type != kInitializerType;
  if (op.originals.empty()) return traced ? "not known" : text;
  if (op.originals.size() == 1 && op.originals[0].name == op.name) return text;
  for (const OriginalNode& node : op.originals) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", node.name, node.type.empty() ? "" : fmt::format(" ({})", node.type));
  }
  return text;
}

// How a tensor that was not contiguous lay in memory; its values are shown in the order of its dimensions.
std::string strides_text(const RecordRow& row) {
  if (row.strided == static_cast<uint8_t>(Strided::kNotKept)) return "not contiguous; a record cannot store these strides";
  return row.strides_of().empty() ? "" : fmt::format("[{}], in elements", fmt::join(row.strides_of(), ", "));
}

// "" where it was not measured.
std::string duration_text(const RecordRow& row, const OpInfo& op) {
  if (row.duration_ns < 0) return "";
  const std::string device = attribute_text(op, kOnDevice);
  return fmt::format("{:.3f} ms{}", static_cast<double>(row.duration_ns) / 1e6,
                     device.empty() ? "" : fmt::format(", of the launch: the op ran on {}", device));
}

void print_description(Terminal& terminal, const DumpIndex& dump, size_t index) {
  const RecordRow& row = dump.rows()[index];
  const OpInfo& op = op_of(dump, row);
  field(terminal, "record", record_name(row, op.name));
  field(terminal, "op", fmt::format("{} ({}{}{})", op.name, op.domain, op.domain.empty() ? "" : ".", op.type));
  field(terminal, "executes", originals_text(dump, op));
  field(terminal, "graph", op.graph);
  field(terminal, "module", op.module);
  field(terminal, "source", op.source_location);
  // For every op: the dump does not list the ops of compiled graphs.
  field(terminal, "compiled", compile_route_text(manifest_json(dump)));
  field(terminal, "value", value_name(dump, row));
  field(terminal, "attributes", op.attributes == "{}" ? "" : op.attributes);
  const std::string_view model_phase = model_phase_name(static_cast<ModelPhase>(row.model_phase));
  field(terminal, "step",
        fmt::format("{}, call {}, rank {}, {}{}{}", row.step, row.call, row.rank, phase_name(static_cast<Phase>(row.phase)),
                    model_phase.empty() ? "" : ", ", model_phase));
  field(terminal, "duration", duration_text(row, op));
  field(terminal, "tensor",
        fmt::format("{} {}, {} elements, {}", dtype_name(row.desc().dtype), row.desc().shape.to_text(), row.numel, bytes_text(row.bytes)));
  field(terminal, "strides", strides_text(row));
  if ((row.flags & kRecordFailedOp) != 0) field(terminal, "note", "an input of an op that failed");
  if ((row.flags & kRecordUnwritten) != 0) field(terminal, "note", "memory that nothing was written to yet: it has no values");
  if (waits_for_values(row)) {
    field(terminal, "note", "the values were on their way into the dump when the program died, or still are");
  } else if ((row.flags & kRecordDataLost) != 0) {
    field(terminal, "note", "the values were wanted but are missing; run.json has the reason");
  }
  if (row.storage != 0) field(terminal, "memory", fmt::format("block {}, version {}", row.storage, row.version));
  field(terminal, "file", dump.file(index));
}

// Whole numbers of integer tensors keep all their digits.
std::string number_text(double number, DType dtype, int digits) {
  const DTypeKind kind = dtype_info(dtype).kind;
  const bool is_whole = (kind == DTypeKind::kSigned || kind == DTypeKind::kUnsigned) && number == std::trunc(number);
  return is_whole || digits >= kAllDigits ? to_text(number) : fmt::format("{:.{}g}", number, digits);
}

void print_statistics(Terminal& terminal, const RecordRow& row, int digits) {
  const TensorStats& stats = row.stats;
  if (stats.valid == 0) return;
  std::string values;
  std::string counts;
  for (const Statistic& statistic : kStatisticTable) {
    if ((stats.valid & statistic.bit) == 0) continue;
    std::string& text = statistic.is_count() ? counts : values;
    const std::string number =
        statistic.is_count() ? to_text(stats.*statistic.count) : number_text(stats.*statistic.number, row.desc().dtype, digits);
    text += fmt::format("{}{} {}", text.empty() ? "" : "  ", statistic.title, number);
  }
  field(terminal, "statistics", values);
  field(terminal, "counts", counts);
  if ((stats.valid & kStatSampled) != 0)
    field(terminal, "sampled", fmt::format("{} of {} elements were looked at", stats.count, row.numel));
}

// At most sixteen bars; neighbouring exponents share one where the range is wide.
void print_histogram(Terminal& terminal, const std::vector<uint64_t>& numbers) {
  constexpr size_t kBars = 16;
  constexpr size_t kBarWidth = 40;
  if (numbers.size() != ExponentHistogram::kBins + 3) return;
  const auto bins_end = numbers.begin() + ExponentHistogram::kBins;
  const auto first = std::find_if(numbers.begin(), bins_end, [](uint64_t count) { return count > 0; });
  if (first == bins_end) return;
  size_t low = static_cast<size_t>(first - numbers.begin());
  size_t high = ExponentHistogram::kBins;
  while (numbers[high - 1] == 0) --high;
  const size_t step = (high - low + kBars - 1) / kBars;
  std::vector<uint64_t> bars;
  for (size_t i = low; i < high; i += step) {
    uint64_t sum = 0;
    for (size_t j = i; j < std::min(high, i + step); ++j) sum += numbers[j];
    bars.push_back(sum);
  }
  const uint64_t most = std::max<uint64_t>(*std::ranges::max_element(bars), 1);
  terminal.line(terminal.out_palette().bold("magnitudes"));
  for (const uint64_t count : bars) {
    const auto length =
        static_cast<size_t>(std::ceil(static_cast<double>(kBarWidth) * static_cast<double>(count) / static_cast<double>(most)));
    std::string bar;
    for (size_t i = 0; i < length; ++i) bar += "▇";
    terminal.line(fmt::format("  2^{:<5}{:>12} {}", static_cast<int>(low) + ExponentHistogram::kLowestExponent, count, bar));
    low += step;
  }
}

Json answer_json(const DumpIndex& dump, size_t index, const Result<RecordData>& data) {
  Json answer = shown_record_json(dump, index);
  const auto histogram = histogram_of(dump, index, data);
  answer["histogram"] = histogram.empty() ? Json() : Json(histogram);
  answer["sketch"] = sketch_json(dump, index);
  const bool few = data.ok() && data->view.desc.shape.numel().value_or(kMostJsonValues + 1) <= kMostJsonValues;
  answer["values"] = few ? values_json(data->view) : Json();
  return answer;
}

Status write_npy(const Terminal& terminal, const std::string& path, const TensorView& view) {
  TENSORTAP_RETURN_IF_ERROR(save_npy(path, view));
  const DTypeInfo& info = dtype_info(view.desc.dtype);
  terminal.note(fmt::format("wrote {}", path));
  if (info.is_raw_in_numpy) terminal.note(fmt::format("NumPy has no {}: the file holds its raw bits as {}", info.name, info.numpy_descr));
  return {};
}

// The values of a record, or the part of them that --at chooses.
Result<RecordData> read_values(const ShowOptions& options, const DumpIndex& dump, size_t index) {
  TENSORTAP_ASSIGN_OR_RETURN(RecordData data, dump.data(index));
  if (options.at.empty()) return data;
  auto part = slice_tensor(data.view, options.at);
  if (!part.ok()) return part.status().with_context(fmt::format("--at {}", options.at));
  RecordData gathered = gather(*part);
  // Texts of the part borrow from the whole.
  gathered.owner = std::make_shared<std::pair<RecordData, std::shared_ptr<const void>>>(std::move(data), gathered.owner);
  return gathered;
}

// The index of the rows that a request has of a record, as --at has it: "3:8".
Result<std::string> rows_of(const std::string& request, const OpenPart& part, size_t index) {
  TENSORTAP_ASSIGN_OR_RETURN(const RequestsFile file, read_requests(*part.dump));
  const RecordRow& row = part.dump->rows()[index];
  if ((row.value_flags & kValueParameter) != 0 || op_of(*part.dump, row).type == kInitializerType) {
    return invalid_argument("--request: the tensor is a parameter, which belongs to all requests");
  }
  Status problem = not_found(fmt::format("the dump has no requests of step {} (`tensortap ls DUMP --requests`)", row.step));
  for (const StepRequests& step : file.steps) {
    if (step.step != row.step) continue;
    const auto rows = rows_of_request(step, request, row.desc().shape.dims());
    if (rows.ok()) return fmt::format("{}:{}", rows->first, rows->first + rows->count);
    problem = rows.status();
  }
  return problem.with_context("--request");
}

// A row's number, as `ls` prints it, or a record's name; the only record without either.
Result<size_t> find_row(const DumpIndex& dump, const std::string& text) {
  if (text.empty() && dump.rows().size() == 1) return size_t{0};
  if (text.empty()) return invalid_argument(fmt::format("RECORD: {} has {} records; name one", dump.layout(), dump.rows().size()));
  uint64_t row = 0;
  if (parse_unsigned(text, row)) {
    if (row < dump.rows().size()) return static_cast<size_t>(row);
    return invalid_argument(fmt::format("row {}: the dump has {} rows, numbered from 0", row, dump.rows().size()));
  }
  RecordKey key;
  if (parse_record_name(text, key)) return find_record(dump, key);
  return invalid_argument(
      fmt::format("{}: write a record as its row in `tensortap ls`, or as OP:SLOT, with @STEP and #CALL when not the first", quote(text)));
}

// The record of the one part that has it.
struct FoundRecord {
  const OpenPart& part;
  size_t row;
};
Result<FoundRecord> find_record_in(const std::vector<OpenPart>& parts, const std::string& text) {
  std::vector<FoundRecord> found;
  Status missing;
  std::vector<std::string> names;
  for (const OpenPart& part : parts) {
    const Result<size_t> row = find_row(*part.dump, text);
    if (!row.ok() && missing.ok()) missing = row.status();
    if (!row.ok()) continue;
    found.push_back({part, *row});
    names.push_back(part_title(part.part));
  }
  if (found.empty()) return missing;
  if (found.size() == 1) return found.front();
  return invalid_argument(fmt::format("{}: {} parts of the dump have it ({}); choose one with --part",
                                      text.empty() ? "a record" : quote(text), found.size(), join(names, ", ")));
}

// The one record that the options choose.
Result<FoundRecord> choose_record(const std::vector<OpenPart>& parts, const RowQuery& query) {
  constexpr size_t kMostNamed = 5;
  std::vector<const DumpIndex*> dumps;
  for (const OpenPart& part : parts) dumps.push_back(part.dump.get());
  const auto rows = select_rows(dumps, query);
  if (!rows.ok()) return in_option_words(rows.status());
  if (rows->size() == 1) return FoundRecord{parts[rows->front().dump], rows->front().row};
  if (rows->empty()) {
    const std::vector<std::string> reasons = unmatched_names(dumps, query);
    return not_found(reasons.empty() ? std::string("the options choose no record") : join(reasons, "; "));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(rows->size(), kMostNamed); ++i) {
    const DumpIndex& dump = *dumps[(*rows)[i].dump];
    const RecordRow& row = dump.rows()[(*rows)[i].row];
    names.push_back(quote(record_name(row, op_of(dump, row).name)));
  }
  return invalid_argument(fmt::format("the options choose {} records, and one is shown: {}{}", rows->size(), join(names, ", "),
                                      rows->size() > kMostNamed ? " and others" : ""));
}

Result<ExitCode> show(ShowOptions options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const AskedParts asked, asked_parts(options.dump, options.part));
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<OpenPart> parts, open_parts(terminal, asked, dumps));
  dumps.warn_of_state(terminal);
  const bool selects = is_selection(options.query);
  if (selects && !options.record.empty()) return invalid_argument("give either RECORD or options that choose it");
  TENSORTAP_ASSIGN_OR_RETURN(const FoundRecord found,
                             selects ? choose_record(parts, options.query) : find_record_in(parts, options.record));
  const std::unique_ptr<DumpIndex>& dump = found.part.dump;
  const size_t index = found.row;
  if (!options.request.empty()) {
    if (!options.at.empty()) return invalid_argument("give either --at or --request");
    TENSORTAP_ASSIGN_OR_RETURN(options.at, rows_of(options.request, found.part, index));
  }
  const Result<RecordData> data = read_values(options, *dump, index);
  const bool values_wanted = !options.at.empty() || !options.npy.empty();
  if (!data.ok() && (values_wanted || data.status().code() != StatusCode::kNotFound)) return data.status();
  if (!options.npy.empty()) TENSORTAP_RETURN_IF_ERROR(write_npy(terminal, options.npy, data->view));
  if (terminal.json) {
    Json answer = answer_json(*dump, index, data);
    if (asked.are_several) answer["part"] = found.part.part.name;
    if (!options.request.empty()) answer["request"] = {{"id", options.request}, {"rows", options.at}};
    answer["dump"] = dumps.json();
    terminal.json_line(answer);
    return ExitCode::kFine;
  }
  if (asked.are_several) field(terminal, "part", part_title(found.part.part));
  print_description(terminal, *dump, index);
  print_statistics(terminal, dump->rows()[index], options.digits);
  for (const auto& [name, text] : sketch_lines(*dump, index)) field(terminal, name, text);
  print_histogram(terminal, histogram_of(*dump, index, data));
  const std::string part = options.at.empty() ? "" : fmt::format(" at [{}]", options.at);
  const std::string whose = options.request.empty() ? "" : fmt::format(", request {}", printable(options.request));
  terminal.line(concat(terminal.out_palette().bold("values"), part, whose));
  terminal.line(data.ok() ? print_tensor(whole_tensor(data->view), {.significant = options.digits < kAllDigits ? options.digits : 0})
                          : "not recorded: capture with --tensors or --full to keep values");
  return ExitCode::kFine;
}

}  // namespace

Action declare_show(CLI::App& app) {
  const auto options = std::make_shared<ShowOptions>();
  app.add_option("dump", options->dump, "Folder of the dump, or one tensor file")->type_name(kDump)->required();
  app.add_option(
         "record", options->record,
         "Its row in `tensortap ls`, or OP:SLOT, with @STEP and #CALL when not the first; not needed where there is one record only")
      ->type_name("RECORD");
  add_part_option(app, options->part);
  app.add_option("--at", options->at, "Only this part of the values, as in NumPy: 0,3,: or ...,-1 or ::2")->type_name("INDEX");
  app.add_option("--request", options->request, "Only the rows of this request of a serving engine, as `ls --requests` lists it")
      ->type_name("ID");
  app.add_option("--digits", options->digits, "Significant digits of the printed numbers (6); 17 for all")
      ->type_name("N")
      ->check(in_range(1, kAllDigits));
  add_selection_options(app, options->query);
  app.add_option("--npy", options->npy, "Also write the values to this NumPy file")->type_name(kFile);
  return [options](Terminal& terminal) { return show(*options, terminal); };
}

}  // namespace tensortap::cli
