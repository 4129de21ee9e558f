#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "convert/npy_values.h"
#include "convert/step_files.h"
#include "convert/step_values.h"
#include "format/safetensors/safetensors.h"

namespace tensortap {
namespace {

struct SafetensorsPart {
  std::vector<size_t> rows;
  std::vector<SafetensorsEntry> entries;
  uint64_t bytes = 0;
};

std::string five_digits(size_t number) {
  const std::string digits = to_text(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

class SafetensorsExport {
 public:
  SafetensorsExport(const DumpIndex& dump, uint64_t part_bytes, TargetFolder& target, ConvertReport& report)
      : dump_(dump), part_bytes_(part_bytes), target_(target), report_(report) {}

  void write_step(const StepValues& step) {
    std::vector<SafetensorsPart> parts = parts_of(step);
    std::map<std::string, std::string> places;
    bool whole = true;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = parts.size() == 1
                                   ? concat(step.name, kExtension)
                                   : concat(step.name, "-", five_digits(i + 1), "-of-", five_digits(parts.size()), kExtension);
      whole = write_part(step, parts[i], name) && whole;
      for (const SafetensorsEntry& entry : parts[i].entries) places[entry.name] = name.substr(name.rfind('/') + 1);
    }
    if (parts.size() > 1 && whole) write_index(step, parts, places);
  }

  void tell_types() {
    for (const auto& [dtype, records] : widened_) {
      report_.notes.push_back(concat(records, records == 1 ? " tensor" : " tensors", " of ", dtype_name(dtype), " became ",
                                     dtype_name(numpy_dtype_for(dtype)), ": safetensors has no such type"));
    }
  }

 private:
  static constexpr std::string_view kExtension = ".safetensors";

  void fail(size_t row, const std::string& reason) {
    const RecordRow& record = dump_.rows()[row];
    report_.failed.push_back({record_name(record, op_of(dump_, record).name), reason});
  }

  // The type and shape that a record is written in; nothing, and a report, where it is not.
  std::optional<TensorDesc> desc_of(size_t row) {
    const Result<RecordData> data = dump_.data(row);
    TensorDesc desc = data.ok() ? data->view.desc : TensorDesc();
    if (data.ok() && !safetensors_holds(desc.dtype)) desc.dtype = numpy_dtype_for(desc.dtype);
    if (data.ok() && safetensors_holds(desc.dtype)) {
      if (desc.dtype != data->view.desc.dtype) ++widened_[data->view.desc.dtype];
      return desc;
    }
    fail(row, data.ok() ? concat("safetensors has no element type ", dtype_name(data->view.desc.dtype)) : data.status().message());
    return std::nullopt;
  }

  std::vector<SafetensorsPart> parts_of(const StepValues& step) {
    std::vector<SafetensorsPart> parts;
    for (const StepValue& value : step.values) {
      const std::optional<TensorDesc> desc = desc_of(value.row);
      if (!desc) continue;
      const uint64_t bytes = packed_bytes(desc->dtype, desc->shape.numel().value_or(0)).value_or(0);
      if (parts.empty() || (parts.back().bytes > 0 && parts.back().bytes + bytes > part_bytes_)) parts.emplace_back();
      parts.back().rows.push_back(value.row);
      parts.back().entries.push_back({value.name, *desc});
      parts.back().bytes += bytes;
    }
    return parts;
  }

  Status write_values_of(size_t row, const TensorDesc& desc, File& file) {
    TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump_.data(row));
    const DType now = data.view.desc.dtype;
    if (!(data.view.desc.shape == desc.shape) || (now != desc.dtype && numpy_dtype_for(now) != desc.dtype)) {
      return corrupt("the record changed while it was written");
    }
    if (now != desc.dtype) return write_values(file, "", data.view);
    const uint64_t bytes = packed_bytes(now, desc.shape.numel().value_or(0)).value_or(0);
    return file.write({static_cast<const std::byte*>(data.view.data), bytes});
  }

  bool write_part(const StepValues& step, const SafetensorsPart& part, const std::string& name) {
    const std::vector<size_t> order = safetensors_order(part.entries);
    std::vector<SafetensorsEntry> entries;
    for (const size_t i : order) entries.push_back(part.entries[i]);
    SafetensorsMetadata metadata = {{"made_by", "tensortap"}};
    if (!step.loaded) metadata.emplace_back("step", to_text(step.step));
    const Result<std::string> header = safetensors_header(entries, metadata);
    Status status = header.status();
    const size_t slash = name.rfind('/');
    const std::string below = slash == std::string::npos ? "" : name.substr(0, slash);
    if (header.ok()) {
      status = target_.write(below, name.substr(slash + 1), header->size() + part.bytes, [&](File& file) {
        TENSORTAP_RETURN_IF_ERROR(file.write(*header));
        for (const size_t i : order) TENSORTAP_RETURN_IF_ERROR(write_values_of(part.rows[i], part.entries[i].desc, file));
        return Status();
      });
    }
    if (status.ok()) report_.sources += part.rows.size();
    if (!status.ok()) report_.failed.push_back({name, status.message()});
    return status.ok();
  }

  // As libraries write it that keep a model in several files.
  void write_index(const StepValues& step, std::span<const SafetensorsPart> parts, const std::map<std::string, std::string>& places) {
    uint64_t bytes = 0;
    for (const SafetensorsPart& part : parts) bytes += part.bytes;
    const std::string text = to_json_text({{"metadata", {{"total_size", bytes}}}, {"weight_map", places}}, 2) + "\n";
    const size_t slash = step.name.rfind('/');
    const std::string below = slash == std::string::npos ? "" : step.name.substr(0, slash);
    const std::string name = concat(step.name.substr(slash + 1), kExtension, ".index.json");
    const Status status = target_.write(below, name, text.size(), [&](File& file) { return file.write(text); });
    if (!status.ok()) report_.failed.push_back({name, status.message()});
  }

  const DumpIndex& dump_;
  uint64_t part_bytes_;
  TargetFolder& target_;
  ConvertReport& report_;
  std::map<DType, uint64_t> widened_;
};

}  // namespace

void export_safetensors(const DumpIndex& dump, uint64_t part_bytes, const ConvertProgress& progress, TargetFolder& target,
                        ConvertReport& report) {
  SafetensorsExport files(dump, part_bytes, target, report);
  const std::vector<StepValues> steps = values_by_step(dump);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (progress) progress(i, steps.size());
    files.write_step(steps[i]);
  }
  files.tell_types();
}

}  // namespace tensortap
