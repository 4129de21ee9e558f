#include "convert/tensor_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/controls.h"
#include "base/text.h"
#include "convert/npy_values.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"
#include "read/tensor_file.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr size_t kMostSlots = 65535;

std::string without_extension(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// A part of a file's name: no dots, blanks and slashes, nothing that a terminal obeys.
std::string name_part(std::string_view text) {
  std::string part = replace_controls(text, [](std::string_view) { return "_"; });
  std::ranges::replace_if(
      part, [](char c) { return c == '.' || c == ' ' || c == '/' || c == '\\'; }, '_');
  return part.empty() ? "_" : part;
}

// "DUMP.input.0" of "DUMP.input.0.npy" or "DUMP.input.0.2x3.npy".
struct SlotName {
  std::string dump;
  bool is_input = false;
  size_t index = 0;
};
std::optional<SlotName> parse_slot_name(const std::string& file_name) {
  for (const std::string_view word : {".input.", ".output."}) {
    const size_t at = file_name.rfind(word);
    if (at == std::string::npos || at == 0) continue;
    const std::string_view rest = std::string_view(file_name).substr(at + word.size());
    uint64_t index = 0;
    if (!parse_unsigned(rest.substr(0, rest.find('.')), index) || index > kMostSlots) continue;
    return SlotName{file_name.substr(0, at), word == ".input.", static_cast<size_t>(index)};
  }
  return std::nullopt;
}

// What becomes one DumpData file.
struct DumpGroup {
  std::string name;
  std::string op_name;
  uint64_t time_us = 0;
  std::map<size_t, std::string> inputs;  // paths
  std::map<size_t, std::string> outputs;
};

// Keeps what the parts of a file borrow from.
struct GroupContent {
  DumpDataFile file;
  std::vector<TensorFile> sources;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::span<const std::byte>> payloads;
};

class TensorFiles {
 public:
  TensorFiles(const ConvertRequest& request, std::string one_file, TargetFolder& target, ConvertReport& report)
      : request_(request), one_file_(std::move(one_file)), target_(target), report_(report) {}

  void to_dump_data(const std::vector<std::string>& paths) {
    std::map<std::string, DumpGroup> groups;
    for (const std::string& path : paths) add_to_group(path, groups);
    for (const auto& [name, group] : groups) {
      const Status status = write_group(group);
      const std::string& first = group.outputs.empty() ? group.inputs.begin()->second : group.outputs.begin()->second;
      count(first, status);
    }
  }

  void to_format(const std::string& path, const Format& format) { count(path, convert_file(path, format)); }

 private:
  void count(const std::string& path, const Status& status) {
    if (status.ok()) {
      ++report_.sources;
    } else {
      report_.failed.push_back({path, status.message()});
    }
  }

  void add_to_group(const std::string& path, std::map<std::string, DumpGroup>& groups) {
    const std::string name = file_name(path);
    if (const auto slot = parse_slot_name(name)) {
      DumpGroup& group = groups[slot->dump];
      group.name = slot->dump;
      const std::vector<std::string_view> parts = split(slot->dump, '.');
      group.op_name = parts.size() > 1 ? parts[1] : parts[0];
      (void)parse_unsigned(parts.back(), group.time_us);
      (slot->is_input ? group.inputs : group.outputs)[slot->index] = path;
      return;
    }
    const uint64_t time = last_time_ = std::max(last_time_ + 1, wall_clock_us());
    const std::string stem = without_extension(name);
    DumpGroup group{one_file_.empty() ? concat("Tensor.", name_part(stem), ".0.0.", time) : one_file_, stem, time, {}, {{0, path}}};
    groups[concat(group.name, "/", groups.size())] = std::move(group);
  }

  Status add_tensor(const std::string& path, std::vector<DumpDataTensor>& tensors, size_t slot, GroupContent& content) {
    TENSORTAP_ASSIGN_OR_RETURN(TensorFile source, read_tensor_file(path));
    if (source.tensors.size() != 1)
      return unsupported(concat(path, " holds ", source.tensors.size(), " tensors; one is written for each file"));
    TensorView view = source.tensors[0].view;
    const Shape whole = view.desc.shape;
    if (!dump_data_holds(view.desc.dtype)) return unsupported(concat("DumpData has no element type ", dtype_name(view.desc.dtype)));
    const DataOrder now = request_.order_now.value_or(DataOrder::kNd);
    if (request_.order && *request_.order != now) {
      TENSORTAP_ASSIGN_OR_RETURN(OwnedTensor changed, change_order(view, {now, *request_.order, Shape(request_.shape), 1}));
      view = {changed.desc, changed.data.get(), nullptr};
      content.owners.push_back(changed.data);
    }
    while (tensors.size() < slot) tensors.emplace_back().dims = {0};
    DumpDataTensor tensor = describe_dump_data(view.desc);
    tensor.format = dump_data_format_number(data_order_name(request_.order.value_or(now))).value_or(kFormatNd);
    if (is_blocked(request_.order.value_or(now)) && !is_blocked(now)) {
      tensor.original_dims.assign(whole.dims().begin(), whole.dims().end());
    }
    content.payloads.emplace_back(static_cast<const std::byte*>(view.data), tensor.size);
    tensors.push_back(std::move(tensor));
    content.sources.push_back(std::move(source));
    return {};
  }

  Status write_group(const DumpGroup& group) {
    GroupContent content;
    content.file.op_name = group.op_name;
    content.file.time_us = group.time_us;
    for (const auto& [slot, path] : group.inputs) TENSORTAP_RETURN_IF_ERROR(add_tensor(path, content.file.inputs, slot, content));
    for (const auto& [slot, path] : group.outputs) TENSORTAP_RETURN_IF_ERROR(add_tensor(path, content.file.outputs, slot, content));
    TENSORTAP_ASSIGN_OR_RETURN(const std::string head, make_dump_data_head(content.file));
    uint64_t bytes = head.size();
    for (const auto& payload : content.payloads) bytes += payload.size();
    return target_.write("", group.name, bytes, [&](File& file) {
      TENSORTAP_RETURN_IF_ERROR(file.write(head));
      for (const auto& payload : content.payloads) TENSORTAP_RETURN_IF_ERROR(file.write(payload));
      return Status();
    });
  }

  Status put_in_order(NamedTensor& tensor) const {
    const DataOrder now = request_.order_now.value_or(DataOrder::kNd);
    if (!request_.order || *request_.order == now) return {};
    TENSORTAP_ASSIGN_OR_RETURN(OwnedTensor changed, change_order(tensor.view, {now, *request_.order, Shape(request_.shape), 1}));
    tensor.view = {changed.desc, changed.data.get(), nullptr};
    tensor.owner = changed.data;
    return {};
  }

  Status convert_file(const std::string& path, const Format& format) {
    TENSORTAP_ASSIGN_OR_RETURN(TensorFile source, read_tensor_file(path));
    for (NamedTensor& tensor : source.tensors) TENSORTAP_RETURN_IF_ERROR(put_in_order(tensor));
    const std::string stem = without_extension(file_name(path));
    if (format.name == "npy") return write_npy_files(source.tensors, stem);
    if (format.encode == nullptr) return unsupported(concat(format.name, " files are read only"));
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, format.encode(source.tensors));
    const std::string name = one_file_.empty() ? concat(stem, format.extension) : one_file_;
    return target_.write("", name, text.size(), [&](File& file) { return file.write(text); });
  }

  Status write_npy_files(const std::vector<NamedTensor>& tensors, const std::string& stem) {
    std::set<std::string> used;
    for (const NamedTensor& tensor : tensors) {
      // Different names may become the same one.
      std::string part = name_part(tensor.name);
      for (int number = 2; !used.insert(part).second; ++number) part = concat(name_part(tensor.name), "~", number);
      std::string name = tensors.size() == 1 ? concat(stem, ".npy") : concat(stem, ".", part, ".npy");
      if (tensors.size() == 1 && !one_file_.empty()) name = one_file_;
      const auto fill = [&](File& file) { return write_npy(file, tensor.view); };
      TENSORTAP_RETURN_IF_ERROR(target_.write("", name, npy_bytes(tensor.view.desc), fill));
    }
    return {};
  }

  const ConvertRequest& request_;
  std::string one_file_;
  TargetFolder& target_;
  ConvertReport& report_;
  uint64_t last_time_ = 0;
};

}  // namespace

void convert_tensor_files(const std::vector<std::string>& paths, const ConvertRequest& request, const std::string& one_file,
                          TargetFolder& target, ConvertReport& report) {
  TensorFiles files(request, one_file, target, report);
  if (request.to == "dump_data") {
    files.to_dump_data(paths);
    return;
  }
  for (const std::string& path : paths) files.to_format(path, *find_format(request.to));
}

}  // namespace tensortap
