#include "convert/convert.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/spans.h"
#include "base/text.h"
#include "base/together.h"
#include "convert/dump_data_files.h"
#include "convert/dump_records.h"
#include "convert/node_data.h"
#include "convert/perfetto_trace.h"
#include "convert/step_files.h"
#include "convert/target_folder.h"
#include "convert/tensor_files.h"
#include "format/dump_data/dump_data_file.h"
#include "query/chosen_dump.h"
#include "read/open_dump.h"
#include "registry/registry.h"
#include "tree/mapping.h"

namespace tensortap {
namespace {

constexpr size_t kMostFilesToConvert = size_t{1} << 24;
constexpr int kDeepestFolder = 32;
constexpr uint64_t kLargestNames = uint64_t{256} << 20;
// Files of other kinds that may lie beside DumpData files.
constexpr std::array<std::string_view, 6> kOtherFiles = {".csv", ".json", ".npy", ".npz", ".txt", ".bin"};

// The forms that are neither a layout nor files of single records.
constexpr std::string_view kSafetensors = "safetensors";
constexpr std::string_view kPolygraphy = "polygraphy";
constexpr std::string_view kOnnxTestData = "onnx";
constexpr std::string_view kModelExplorer = "model-explorer";
constexpr std::string_view kPerfetto = "perfetto";
bool is_step_form(std::string_view to) { return to == kSafetensors || to == kPolygraphy || to == kOnnxTestData; }

// Forms of single tensors besides the formats.
bool is_tensor_form(std::string_view to) { return to == "npy" || to == "bin" || to == "msnpy"; }

bool is_regular(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool begins_as_dump_data(const std::string& path) {
  std::array<std::byte, 64> head{};
  const Result<File> file = is_regular(path) ? File::open(path, O_RDONLY) : Result<File>(not_found(path));
  if (!file.ok()) return false;
  const ssize_t got = ::pread(file->fd(), head.data(), head.size(), 0);
  return got > 0 && is_dump_data(first_of(std::span<const std::byte>(head), static_cast<uint64_t>(got)));
}

// Files below a folder with their folders and the names that mapping.csv gives them.
class FileCollector {
 public:
  std::vector<SourceFile> files;
  std::vector<ConvertFailure> failed;

  void collect(const std::string& folder, const std::string& below, int depth) {
    std::error_code error;
    std::map<std::string, bool> names;  // whether it is a folder
    // The kind comes with the name, without a look at the file.
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code unknown;
      const bool is_folder = entry->is_directory(unknown);
      if (is_folder || entry->is_regular_file(unknown)) names[entry->path().filename()] = is_folder;
    }
    if (error) failed.push_back({folder, error.message()});
    const auto mapping = read_names(folder, names.contains(std::string(kMappingFile)));
    for (const auto& [name, is_folder] : names) {
      if (name[0] == '.' || name == kMappingFile || files.size() == kMostFilesToConvert) continue;
      const std::string path = join_path(folder, name);
      if (!is_folder) {
        const auto mapped = mapping.find(name);
        files.push_back({path, below, mapped == mapping.end() ? name : mapped->second});
      } else if (depth > 0) {
        collect(path, below.empty() ? name : join_path(below, name), depth - 1);
      }
    }
  }

 private:
  static std::map<std::string, std::string, std::less<>> read_names(const std::string& folder, bool are_there) {
    std::map<std::string, std::string, std::less<>> mapping;
    if (!are_there) return mapping;
    const auto text = read_file(join_path(folder, kMappingFile), kLargestNames);
    return text.ok() ? mapped_names(*text) : mapping;
  }
};

bool is_other_file(const SourceFile& file) {
  return std::ranges::any_of(kOtherFiles, [&](std::string_view suffix) { return file.name.ends_with(suffix); });
}

// On several threads; this one reports progress.
void convert_dump_data(const std::vector<SourceFile>& files, const ConvertRequest& request, const ConvertProgress& progress,
                       TargetFolder& target, ConvertReport& report) {
  std::mutex mutex;
  std::vector<std::pair<size_t, std::string>> failed;
  const auto convert_one = [&, caller = std::this_thread::get_id()](size_t i) {
    if (progress && std::this_thread::get_id() == caller) progress(i, files.size());
    const Status status = convert_dump_data_file(files[i], request, target);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    failed.emplace_back(i, status.message());
  };
  for_each_together(files.size(), convert_one, request.threads);
  std::ranges::sort(failed);
  report.sources += files.size() - failed.size();
  for (auto& [i, message] : failed) report.failed.push_back({files[i].path, std::move(message)});
}

// Options that only some forms have.
Status check_form_options(const ConvertRequest& request) {
  const bool model_explorer = request.to == kModelExplorer;
  for (const auto& [option, value] : {std::pair("--key", &request.key), std::pair("--graph", &request.graph)}) {
    if (!value->empty() && !model_explorer) return invalid_argument(concat(option, ": only --to ", kModelExplorer, " has it"));
  }
  return {};
}

// A dump needs an empty folder: with existing files it would be a mixture of two.
Status check_unused(const std::string& target) {
  if (!is_directory(target)) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(target));
  if (names.empty()) return {};
  return invalid_argument(
      concat(target, " is not empty (it holds ", quote(names.front()), names.size() > 1 ? ", ..." : "", "). Choose another, or remove it"));
}

std::string real_path(const std::string& path) {
  std::error_code error;
  std::string real = std::filesystem::weakly_canonical(path, error).string();
  while (real.size() > 1 && real.ends_with('/')) real.pop_back();
  return error ? path : real;
}

// The source must not be written to: a file that was just written could be read next.
Status check_apart(const std::string& source, const std::string& target) {
  const std::string from = real_path(source);
  const std::string to = real_path(target);
  const bool is_inside = is_directory(from) && to.starts_with(concat(from, "/"));
  if (from != to && !is_inside) return {};
  return invalid_argument(concat(target, ": ", from == to ? "is what is converted" : concat("lies in ", source, ", which is converted"),
                                 "; choose another target"));
}

// A tree of another system, which holds several dumps, is added to. With other files it would be a mixture.
Status check_tree(const Layout& layout, const std::string& target) {
  const Status unused = check_unused(target);
  return unused.ok() || layout.recognise(target) != Confidence::kNo ? Status() : unused;
}

Status check_request(const ConvertRequest& request) {
  const std::vector<std::string> known = conversion_targets();
  if (request.sources.empty()) return invalid_argument("there is nothing to convert");
  if (std::ranges::find(known, request.to) == known.end()) {
    return invalid_argument(
        concat("--to: there is no ", quote(request.to), "; there are ", join(known, ", "), ".", did_you_mean(request.to, known)));
  }
  TENSORTAP_RETURN_IF_ERROR(check_form_options(request));
  for (const std::string& source : request.sources) {
    if (!path_exists(source)) return not_found(concat(source, ": no such file or folder"));
    TENSORTAP_RETURN_IF_ERROR(check_apart(source, request.target));
    if (request.sources.size() > 1 && is_directory(source)) {
      return invalid_argument(concat(source, ": a folder is converted by itself, without other sources"));
    }
  }
  return {};
}

Status check_values(const DumpIndex& dump, const std::string& source) {
  if (std::ranges::any_of(dump.rows(), [](const RecordRow& row) { return (row.flags & kRecordHasData) != 0; })) return {};
  return invalid_argument(concat(source, ": no record has its values, only statistics; capture tensors"));
}

// What was made of a target; where nothing was, nothing is left of it.
Status finish(TargetFolder& target, ConvertReport& report) {
  report.written = target.written();
  report.bytes = target.bytes();
  report.replaced = target.replaced();
  if (report.replaced == 1) report.notes.emplace_back("1 file that was there was replaced");
  if (report.replaced > 1) report.notes.push_back(concat(report.replaced, " files that were there were replaced"));
  target.remove_if_unused();
  if (report.failed.empty() || report.written == 0) return {};
  std::string text;
  for (const ConvertFailure& failure : report.failed) text += concat(failure.source, "\n");
  return target.write("", kFailedFileList, text.size(), [&](File& file) { return file.write(text); });
}

// One file becomes one file where its target is called like one.
bool wants_one_file(const ConvertRequest& request) {
  if (request.sources.size() != 1 || is_directory(request.sources[0]) || is_directory(request.target) || request.target.ends_with('/'))
    return false;
  const Format* format = find_format(request.to);
  return format != nullptr && request.target.ends_with(format->extension);
}

// Reports the problems and the completeness of the dump that is converted.
void tell_source(const DumpIndex& dump, ConvertReport& report) {
  for (const std::string& problem : dump.problems()) report.notes.push_back(problem);
  report.source = dump.completeness();
}

// The dump, or the records of it that are asked for.
Result<std::unique_ptr<DumpIndex>> open_source(const ConvertRequest& request, ConvertReport& report) {
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_dump(request.sources[0]));
  tell_source(*dump, report);
  const size_t all = dump->rows().size();
  auto chosen = choose_records(std::move(dump), request.query);
  // The words of a query are the options of the command.
  if (chosen.status().code() == StatusCode::kInvalidArgument) return invalid_argument(concat("--", chosen.status().message()));
  if (chosen.ok() && is_selection(request.query))
    report.notes.push_back(concat((*chosen)->rows().size(), " of ", all, " records are chosen"));
  return chosen;
}

Status to_layout(const ConvertRequest& request, const Layout& layout, const ConvertProgress& progress, ConvertReport& report) {
  if (request.sources.size() != 1 || !is_directory(request.sources[0])) {
    return invalid_argument(concat("a dump, not files, becomes a dump of the layout ", layout.name));
  }
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_source(request, report));
  TENSORTAP_RETURN_IF_ERROR(layout.shares_folder ? check_tree(layout, request.target) : check_unused(request.target));
  TENSORTAP_RETURN_IF_ERROR(make_directories(request.target));
  report.losses = losses_of(*dump, layout);
  for (std::string& note : loss_notes(report.losses, layout)) report.notes.push_back(std::move(note));
  return copy_dump(*dump, request.sources[0], layout, request.target, progress, report);
}

// The name of a folder, whatever its path ends with.
std::string folder_name(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().parent_path().filename(); }

// A target that ends in the extension is the file, every other one the folder that gets it.
bool is_file_of(const std::string& target, std::string_view extension) { return target.ends_with(extension) && !is_directory(target); }

// The forms that are one file.
Status to_one_file(const ConvertRequest& request, const ConvertProgress& progress, ConvertReport& report) {
  if (request.sources.size() != 1) return invalid_argument(concat("one dump is converted to ", request.to, ", not several files"));
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_source(request, report));
  const bool trace = request.to == kPerfetto;
  const bool one_file = is_file_of(request.target, trace ? ".pftrace" : ".json");
  const std::string file = one_file ? file_name(request.target) : "";
  TargetFolder target(one_file ? parent_path(request.target) : request.target);
  TENSORTAP_RETURN_IF_ERROR(trace ? export_perfetto(*dump, request, file, progress, target, report)
                                  : export_node_data(*dump, request, file, target, report));
  return finish(target, report);
}

Status to_step_files(const ConvertRequest& request, const ConvertProgress& progress, ConvertReport& report) {
  if (request.sources.size() != 1 || !is_directory(request.sources[0])) {
    return invalid_argument(concat(request.sources[0], ": a dump, not a file, is converted to ", request.to));
  }
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_source(request, report));
  TENSORTAP_RETURN_IF_ERROR(check_values(*dump, request.sources[0]));
  const bool one_file = request.to == kPolygraphy && is_file_of(request.target, ".json");
  if (!one_file) TENSORTAP_RETURN_IF_ERROR(check_unused(request.target));
  TargetFolder target(one_file ? parent_path(request.target) : request.target);
  TENSORTAP_RETURN_IF_ERROR(target.make());
  if (request.to == kSafetensors) {
    export_safetensors(*dump, request.part_bytes, progress, target, report);
  } else if (request.to == kPolygraphy) {
    export_polygraphy(*dump, folder_name(join_path(request.sources[0], ".")), one_file ? file_name(request.target) : "", progress, target,
                      report);
  } else {
    export_onnx_test_data(*dump, progress, target, report);
  }
  return finish(target, report);
}

Status to_files(const ConvertRequest& request, const ConvertProgress& progress, TargetFolder& target, ConvertReport& report) {
  FileCollector collector;
  const bool folder = is_directory(request.sources[0]);
  if (folder) {
    collector.collect(request.sources[0], "", kDeepestFolder);
  } else {
    for (const std::string& source : request.sources) {
      collector.files.push_back({source, "", file_name(source)});
      target.protect(source);
    }
  }
  report.failed = std::move(collector.failed);
  std::vector<SourceFile>& files = collector.files;
  const auto nothing_to_convert = [&request] { return not_found(concat(request.sources[0], ": there is no file in it to convert")); };
  const bool any_dump_data =
      std::ranges::any_of(files, [](const SourceFile& file) { return !is_other_file(file) && begins_as_dump_data(file.path); });
  const bool tensors_of_dump_data = is_tensor_form(request.to) && (any_dump_data || request.to != "npy");
  const bool may_be_dump = folder && !any_dump_data && request.to == "npy";
  if (is_selection(request.query) && !may_be_dump) {
    return invalid_argument(
        "--ops, --types, --modules, --steps and --last choose records of a dump, and files are converted one by one here");
  }
  if (tensors_of_dump_data) {
    if (folder) std::erase_if(files, is_other_file);
    if (files.empty()) return nothing_to_convert();
    TENSORTAP_RETURN_IF_ERROR(target.make());
    convert_dump_data(files, request, progress, target, report);
    return {};
  }
  if (may_be_dump) {
    const auto dump = open_source(request, report);
    if (dump.ok()) {
      TENSORTAP_RETURN_IF_ERROR(check_values(**dump, request.sources[0]));
      TENSORTAP_RETURN_IF_ERROR(check_unused(request.target));
      TENSORTAP_RETURN_IF_ERROR(target.make());
      export_records(**dump, progress, target, report);
      return {};
    }
    if (is_selection(request.query)) return dump.status();
  }
  std::vector<std::string> paths;
  for (const SourceFile& file : files) {
    if (!folder || !file.name.ends_with(".txt")) paths.push_back(file.path);
  }
  if (paths.empty()) return nothing_to_convert();
  TENSORTAP_RETURN_IF_ERROR(target.make());
  convert_tensor_files(paths, request, wants_one_file(request) ? file_name(request.target) : "", target, report);
  return {};
}

}  // namespace

std::vector<std::string> conversion_targets() {
  std::vector<std::string> words = {"npy", "msnpy", "bin"};
  for (const Format& format : formats()) {
    if (format.encode != nullptr && format.name != "npy") words.emplace_back(format.name);
  }
  for (const std::string_view word : {kPolygraphy, kOnnxTestData, kModelExplorer, kPerfetto}) words.emplace_back(word);
  for (std::string& name : written_layouts()) words.push_back(std::move(name));
  return words;
}

Result<ConvertReport> convert(const ConvertRequest& request, const ConvertProgress& progress) {
  TENSORTAP_RETURN_IF_ERROR(check_request(request));
  ConvertReport report;
  if (const Layout* layout = find_layout(request.to)) {
    TENSORTAP_RETURN_IF_ERROR(to_layout(request, *layout, progress, report));
    return report;
  }
  if (request.to == kModelExplorer || request.to == kPerfetto) {
    TENSORTAP_RETURN_IF_ERROR(to_one_file(request, progress, report));
    return report;
  }
  const bool files_to_safetensors =
      request.to == kSafetensors && (!is_directory(request.sources[0]) || !locate_dump(request.sources[0]).ok());
  if (is_step_form(request.to) && !files_to_safetensors) {
    TENSORTAP_RETURN_IF_ERROR(to_step_files(request, progress, report));
    return report;
  }
  TargetFolder target(wants_one_file(request) ? parent_path(request.target) : request.target);
  TENSORTAP_RETURN_IF_ERROR(to_files(request, progress, target, report));
  TENSORTAP_RETURN_IF_ERROR(finish(target, report));
  return report;
}

}  // namespace tensortap
