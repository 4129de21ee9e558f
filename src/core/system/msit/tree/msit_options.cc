#include "system/msit/tree/msit_options.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"
#include "base/job_rank.h"
#include "base/text.h"
#include "layout/layout_option.h"
#include "system/msit/tree/tree_names.h"
#include "trace/scoped_name.h"
#include "tree/folder_names.h"
#include "tree/walk.h"

namespace tensortap::msit {
namespace {

constexpr const char* kTime = "time";
constexpr const char* kLinks = "links";
constexpr const char* kKernelFiles = "kernels";
constexpr const char* kLaunches = "tiling";
constexpr const char* kOnnx = "onnx";
constexpr const char* kOperationTimes = "times";
constexpr const char* kTables = "tables";
constexpr const char* kTensorFiles = "tensors";
constexpr const char* kTopology = "topology";
constexpr std::string_view kDialect = "msit";

// "20251120_200000" as fourteen digits, "" for no time.
std::string digits_of(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  return is_time_folder(digits) ? digits : "";
}

Status check_time(std::string_view value) {
  if (!digits_of(value).empty()) return {};
  return invalid_argument(concat(quote(value), " is no time such as 20251120_200000"));
}

Status check_flag(std::string_view value) {
  if (value == "true" || value == "false") return {};
  return invalid_argument(concat(quote(value), " is not valid; valid: true, false"));
}

bool has_word(std::string_view value, std::string_view word) {
  const auto words = split(value, ',');
  return std::ranges::find(words, word) != words.end();
}

// Whether a list has these two words only.
Status check_words(std::string_view value, std::string_view first, std::string_view second) {
  for (const std::string_view word : split(value, ',')) {
    if (word != first && word != second) return invalid_argument(concat(quote(word), " is not valid; valid: ", first, ", ", second));
  }
  return {};
}

Status check_tables(std::string_view value) { return check_words(value, "op", "kernel"); }
Status check_topology(std::string_view value) { return check_words(value, "layer", "model"); }

// The value of an option, "" without one. Errors: as its row of kLayoutOptions has them.
Result<std::string> option(const CaptureSpec& spec, std::string_view name) {
  const std::string value = layout_option(spec, name);
  if (value.empty()) return value;
  const auto* row = std::ranges::find(kLayoutOptions, name, &LayoutOption::name);
  if (const Status status = row->check(value); !status.ok()) return status.with_context(concat("layout_options.", name));
  return value;
}

// Where tables look for files; the path as it was given where the system does not know it.
std::string absolute(const std::string& folder) {
  std::string path = "/";
  for (const std::string& part : real_parts(folder)) path = join_path(path, part);
  return path.size() > 1 ? path : folder;
}

// The name of the topology of a session of ONNX Runtime: a process may have several. "" of other sources, whose ops tell their model.
std::string model_name(const DumpInfo& info) {
  if (!info.source.starts_with("onnxruntime")) return {};
  std::string_view name = info.model;
  if (name.ends_with(".onnx")) name.remove_suffix(5);
  return concat(name.empty() ? "model" : identifier(name), info.model_id > 1 ? concat("_", info.model_id) : "");
}

}  // namespace

const LayoutOption kLayoutOptions[9] = {
    {kKernelFiles, "true or false", "true", "Whether tensors of kernels have files.", check_flag},
    {kLinks, "true or false", "false", "Whether a tensor whose file would be the same as an earlier one becomes a link to that.",
     check_flag},
    {kOnnx, "true or false", "false", "Whether each topology has an ONNX model beside it.", check_flag},
    {kTables, "op, kernel or op,kernel", "", "Tables of what operations, kernels or both read and made.", check_tables},
    {kTensorFiles, "true or false", "true", "Whether tensors have files; without them tables and topology are left.", check_flag},
    {kLaunches, "true or false", "false", "Whether each kernel has a file that tells how it was launched.", check_flag},
    {kTime, "YYYYmmdd_HHMMSS", "", "The time in the name of the dump's folder; without it, when the dump was asked for.", check_time},
    {kOperationTimes, "true or false", "false", "Whether there are tables of how long operations took.", check_flag},
    {kTopology, "layer, model or layer,model", "", "What root operations, models or both are made of, as JSON.", check_topology},
};

Result<WriterOptions> writer_options(const DumpInfo& info, const CaptureSpec& spec) {
  WriterOptions options;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string time, option(spec, kTime));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string links, option(spec, kLinks));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string tables, option(spec, kTables));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string topology, option(spec, kTopology));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string onnx, option(spec, kOnnx));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string times, option(spec, kOperationTimes));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string launches, option(spec, kLaunches));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string kernel_files, option(spec, kKernelFiles));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string files, option(spec, kTensorFiles));
  std::string digits = digits_of(time.empty() ? info.timestamp : time);
  if (digits.empty()) {
    digits = wall_clock_iso();
    std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
  }
  const int64_t process = info.process != 0 ? info.process : ::getpid();
  const int device = info.device == 0 && info.process == 0 ? job_device() : std::max(info.device, -1);
  TENSORTAP_ASSIGN_OR_RETURN(options.root, Folder::hold(info.folder));
  options.absolute_root = absolute(info.folder);
  options.links = links == "true";
  options.operation_table = has_word(tables, "op");
  options.kernel_table = has_word(tables, "kernel");
  options.layer_topology = has_word(topology, "layer");
  options.model_topology = has_word(topology, "model");
  options.onnx = onnx == "true";
  options.times = times == "true";
  options.launches = launches == "true";
  options.kernel_files = kernel_files != "false";
  options.threads = info.threads;
  options.own_kernels = !info.kernels;
  options.model = model_name(info);
  options.files = files != "false";
  options.dump = dump_name(digits);
  options.process = concat(device, "_", process);
  options.manifest = concat(process, info.model_id > 1 ? concat(".", info.model_id) : "", ".json");
  options.tensors = spec.payload == Payload::kTensor || spec.payload == Payload::kFull;
  options.statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  // Under its own config inputs are recorded when they are asked for; under others, which know no such choice, before the op runs.
  options.inputs_before =
      spec.moment == MomentChoice::kInBeforeOutAfter || (spec.moment == MomentChoice::kAfter && spec.dialect != kDialect);
  options.table_before = options.inputs_before || spec.moment != MomentChoice::kAfter;
  options.only_with_records = spec.trigger != Trigger::kAlways || !spec.where.empty();
  options.max_bytes = spec.limits.max_bytes;
  options.access = spec.access;
  return options;
}

}  // namespace tensortap::msit
