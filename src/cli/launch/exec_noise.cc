#include "cli/launch/exec_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/text/terminal.h"
#include "read/open_dump.h"
#include "trace/dump_index.h"

namespace tensortap::cli {
namespace {

constexpr const char* kAgain = "noise_check";  // the folder of the run that is as the first
constexpr const char* kReport = "noise_report";

// A folder of a dump that does not stay.
class PassingFolder {
 public:
  explicit PassingFolder(std::string path) : path_(std::move(path)) {}
  ~PassingFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

using Place =
    std::tuple<std::string, int64_t, uint32_t, uint8_t, uint16_t, int64_t>;  // op, step, call, kind and number of the slot, element

Place place_of(const DumpIndex& dump, const RecordRow& row) {
  return {op_of(dump, row).name, row.step, row.call, row.slot_kind, row.slot_index, row.element};
}

bool same_values(const RecordRow& one, const RecordRow& other) {
  if (one.dtype != other.dtype || one.numel != other.numel || one.stats.valid != other.stats.valid) return false;
  const auto same = [](double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  const TensorStats& a = one.stats;
  const TensorStats& b = other.stats;
  return same(a.min, b.min) && same(a.max, b.max) && same(a.mean, b.mean) && same(a.l2, b.l2) && a.nan == b.nan && a.pos_inf == b.pos_inf &&
         a.neg_inf == b.neg_inf && a.zero == b.zero && a.positive == b.positive;
}

// The first record, in words, whose statistics are others, or which only one of the dumps has. Memory that nothing wrote to is left out.
std::optional<std::string> first_difference(const DumpIndex& first, const DumpIndex& again) {
  std::map<Place, const RecordRow*> others;
  for (const RecordRow& row : again.rows()) others.emplace(place_of(again, row), &row);
  const RecordRow* found = nullptr;
  for (const RecordRow& row : first.rows()) {
    if ((row.flags & kRecordUnwritten) != 0 || (found != nullptr && found->sequence < row.sequence)) continue;
    const auto other = others.find(place_of(first, row));
    if (other == others.end() || !same_values(row, *other->second)) found = &row;
  }
  if (found != nullptr) return record_name(*found, op_of(first, *found).name);
  return std::nullopt;
}

Status run_into(CapturedRun run, const FoundProgram& found, CaptureSpec spec, const std::string& folder, const Terminal& terminal) {
  spec.out = folder;
  run.summary.clear();
  run.strict = false;
  run.afterwards = nullptr;
  Terminal silent;
  silent.quiet = true;
  silent.errors_only = terminal.errors_only;
  TENSORTAP_ASSIGN_OR_RETURN(const ExitCode code, run_captured(run, found, std::move(spec), silent));
  if (code == ExitCode::kFine) return {};
  return io_error(fmt::format("--noise: the program ended with {} when it ran again, and with 0 before", static_cast<int>(code)));
}

Status check_repeats(const std::string& first, const std::string& again) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto one, open_dump(first));
  TENSORTAP_ASSIGN_OR_RETURN(const auto other, open_dump(again));
  const std::optional<std::string> difference = first_difference(*one, *other);
  if (!difference) return {};
  return io_error(
      concat("--noise: the program gives other values when it runs again, first in ", *difference,
             ". Noise cannot be measured beside that: fix its random numbers (torch.manual_seed, the order of its data) and its threads"));
}

// What the processes of a run moved, by the report that each left.
Status check_moved(const std::string& report) {
  const Result<std::string> text = read_file(report);
  uint64_t moved = 0;
  std::map<std::string, uint64_t> elsewhere;
  for (const std::string_view line : text.ok() ? split(*text, '\n') : std::vector<std::string_view>()) {
    const Result<Json> json = parse_json(line, "");
    if (!json.ok() || !json->is_object()) continue;
    const Json count = json->value("moved", Json());
    moved += count.is_number_unsigned() ? count.get<uint64_t>() : 0;
    const Json counts = json->value("elsewhere", Json::object());
    for (const auto& [place, tensors] : counts.items()) {
      elsewhere[place] += tensors.is_number_unsigned() ? tensors.get<uint64_t>() : 0;
    }
  }
  if (!elsewhere.empty()) {
    std::vector<std::string> places;
    for (const auto& [place, tensors] : elsewhere) places.push_back(concat(counted(tensors, "tensor"), " on ", place));
    return io_error(concat("--noise: the modules have ", join(places, ", "), " that cannot be moved; only tensors in CPU memory are"));
  }
  if (moved > 0) return {};
  return io_error(
      "--noise: nothing was moved: the program called no module of torch with floating-point weights or inputs, or has no NumPy");
}

Variables moving_variables(const FoundProgram& found, int64_t number, const std::string& report) {
  const std::string folder = join_path(found.installed.python_package, "tensortap/_seeds");
  const std::optional<std::string> own = environment_value("PYTHONPATH");
  return {
      {"TENSORTAP_NOISE", to_text(number)}, {"TENSORTAP_NOISE_REPORT", report}, {"PYTHONPATH", own ? concat(folder, ":", *own) : folder}};
}

}  // namespace

Status check_noise_spec(const CaptureSpec& spec) {
  if (spec.layout != "tap")
    return invalid_argument(concat("--noise: the layout ", quote(spec.layout), " has no room for further runs; use tap"));
  if (spec.payload == Payload::kTensor || spec.payload == Payload::kFull) return {};
  return invalid_argument("--noise: differences are measured on tensors, and none are captured: add --full");
}

Status run_program_noise(const CapturedRun& run, const FoundProgram& found, const CaptureSpec& spec, int64_t count, Json& summary,
                         const Terminal& terminal) {
  const std::string dump = summary.at("dump").get<std::string>();
  if (found.installed.python_package.empty()) return io_error("--noise: the Python package of this installation is missing");
  terminal.note(fmt::format("--noise: the program runs {} more times", count + 1));
  {
    const PassingFolder again(join_path(dump, kAgain));
    TENSORTAP_RETURN_IF_ERROR(run_into(run, found, spec, again.path(), terminal));
    TENSORTAP_RETURN_IF_ERROR(check_repeats(dump, again.path()));
  }
  std::vector<std::unique_ptr<PassingFolder>> folders;
  for (int64_t number = 1; number <= count; ++number) {
    const PassingFolder report(join_path(dump, kReport));
    folders.push_back(std::make_unique<PassingFolder>(join_path(dump, concat("noise", number))));
    CapturedRun moved = run;
    const Variables variables = moving_variables(found, number, report.path());
    moved.variables.insert(moved.variables.end(), variables.begin(), variables.end());
    moved.no_cache = true;  // memory is written past torch
    TENSORTAP_RETURN_IF_ERROR(run_into(std::move(moved), found, spec, folders.back()->path(), terminal));
    TENSORTAP_RETURN_IF_ERROR(check_moved(report.path()));
  }
  summary["noise"] = Json::array();
  for (const auto& folder : folders) {
    folder->keep();
    summary["noise"].push_back(folder->path());
  }
  return {};
}

}  // namespace tensortap::cli
