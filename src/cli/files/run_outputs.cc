#include "cli/files/run_outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/files.h"
#include "read/tensor_file.h"
#include "tensor/tensor.h"

namespace tensortap::cli {
namespace {

// An output's name as the name of a file: no folders, no hidden files, nothing that a shell trips over.
std::string file_stem(std::string_view name) {
  std::string stem;
  for (const char c : name.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    stem += byte <= 0x20 || byte == 0x7F || c == '/' || c == '\\' ? '_' : c;
  }
  if (stem.empty() || stem.front() == '.') stem.insert(stem.begin(), '_');
  return stem;
}

TensorView view_of(const tensortap_tensor& output) {
  TensorView view;
  view.desc = {static_cast<DType>(output.dtype), Shape(std::span(output.dims, output.rank))};
  view.data = output.data;
  view.strides = output.strides;
  return view;
}

}  // namespace

Result<OutputFiles> OutputFiles::open(const std::string& folder) {
  TENSORTAP_RETURN_IF_ERROR(make_directories(folder).with_context("--save-outputs"));
  if (access(folder.c_str(), W_OK) != 0) return errno_status(fmt::format("--save-outputs: writing to {}", folder), errno);
  return OutputFiles(folder);
}

void OutputFiles::save(int64_t step, const tensortap_tensor& output) {
  if (!status_.ok()) return;
  std::string name = file_stem(output.name == nullptr ? fmt::format("output_{}", output.slot_index) : output.name);
  if (output.element >= 0) name += fmt::format("[{}]", output.element);
  if (step != 0) name += fmt::format("@{}", step);
  std::string unique = name;
  for (int i = 2; !written_.insert(unique).second; ++i) unique = fmt::format("{}#{}", name, i);
  status_ = save_npy(join_path(folder_, unique + ".npy"), view_of(output));
}

}  // namespace tensortap::cli
