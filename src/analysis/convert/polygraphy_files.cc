#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "convert/npy_values.h"
#include "convert/step_files.h"
#include "convert/step_values.h"

namespace tensortap {
namespace {

constexpr std::string_view kResultsFile = "results.json";
constexpr std::string_view kInputsFile = "inputs.json";

std::string json_text_of(std::string_view text) { return to_json_text(Json(std::string(text))); }

// JSON as polygraphy.json.save_json() writes these objects, with its indentation left out.
class PolygraphyExport {
 public:
  PolygraphyExport(const DumpIndex& dump, TargetFolder& target, ConvertReport& report) : dump_(dump), target_(target), report_(report) {}

  // Weights are not outputs, and inputs have a separate file.
  bool is_input(const StepValue& value) const { return op_of(dump_, dump_.rows()[value.row]).type == kInputType; }

  void write_results(std::span<const StepValues> steps, const std::string& runner, const std::string& file) {
    bytes_ = 0;
    write(file, [&](File& out) {
      TENSORTAP_RETURN_IF_ERROR(put(out, concat("{\"lst\": [[", json_text_of(runner), ", [")));
      bool first = true;
      for (const StepValues& step : steps) {
        if (step.loaded) continue;
        TENSORTAP_RETURN_IF_ERROR(put(out, concat(first ? "" : ",", "\n{\"outputs\": {")));
        first = false;
        TENSORTAP_RETURN_IF_ERROR(put_values(step, false, out));
        TENSORTAP_RETURN_IF_ERROR(put(
            out, concat("}, \"runtime\": null, \"runner_name\": ", json_text_of(runner), ", \"polygraphy_class\": \"IterationResult\"}")));
      }
      return put(out, "]]], \"polygraphy_class\": \"RunResults\"}\n");
    });
  }

  void write_inputs(std::span<const StepValues> steps) {
    bytes_ = 0;
    write(std::string(kInputsFile), [&](File& out) {
      bool first = true;
      for (const StepValues& step : steps) {
        if (step.loaded) continue;
        TENSORTAP_RETURN_IF_ERROR(put(out, first ? "[\n{" : ",\n{"));
        first = false;
        TENSORTAP_RETURN_IF_ERROR(put_values(step, true, out));
        TENSORTAP_RETURN_IF_ERROR(put(out, "}"));
      }
      return put(out, first ? "[]\n" : "]\n");
    });
  }

 private:
  template <class Fill>
  void write(const std::string& file, Fill&& fill) {
    const Status status = target_.write("", file, 0, [&](File& out) { return fill(out); });
    if (status.ok()) target_.count_bytes(bytes_);
    if (!status.ok()) report_.failed.push_back({file, status.message()});
  }

  Status put(File& out, std::string_view text) {
    bytes_ += text.size();
    return out.write(text);
  }

  Status put_values(const StepValues& step, bool inputs, File& out) {
    bool first = true;
    for (const StepValue& value : step.values) {
      if (is_input(value) != inputs) continue;
      const RecordRow& row = dump_.rows()[value.row];
      const Result<RecordData> data = dump_.data(value.row);
      const Result<std::string> npy = data.ok() ? npy_file_of(data->view) : Result<std::string>(data.status());
      if (!npy.ok()) {
        report_.failed.push_back({record_name(row, op_of(dump_, row).name), npy.status().message()});
        continue;
      }
      std::string text = concat(first ? "\n" : ",\n", json_text_of(value.name), ": ", inputs ? "" : "{\"values\": ", "{\"array\": \"");
      first = false;
      append_base64(std::as_bytes(std::span(npy->data(), npy->size())), text);
      text += concat("\", \"polygraphy_class\": \"ndarray\"}", inputs ? "" : ", \"polygraphy_class\": \"LazyArray\"}");
      TENSORTAP_RETURN_IF_ERROR(put(out, text));
      ++report_.sources;
    }
    return {};
  }

  const DumpIndex& dump_;
  TargetFolder& target_;
  ConvertReport& report_;
  uint64_t bytes_ = 0;  // of the file that is written
};

}  // namespace

void export_polygraphy(const DumpIndex& dump, const std::string& runner, const std::string& file, const ConvertProgress& progress,
                       TargetFolder& target, ConvertReport& report) {
  const std::vector<StepValues> steps = values_by_step(dump);
  if (progress) progress(0, steps.size());
  PolygraphyExport files(dump, target, report);
  files.write_results(steps, runner, file.empty() ? std::string(kResultsFile) : file);
  if (file.empty()) files.write_inputs(steps);
}

}  // namespace tensortap
