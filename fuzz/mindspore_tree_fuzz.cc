// Any bytes as a small MindSpore tree: opened at three levels, and all of it read. The input is a row of parts, two bytes of size each: the name of a
// tensor's file, its content, statistic.csv, mapping.csv, a graph's message and its text; what is left over is dropped.
//
// A content that does not begin as an npy file does gets a right header's beginning, so that shapes are reached at once.

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_touch.h"
#include "layout/mindspore/mindspore_reader.h"

namespace tensortap {
namespace {

std::string_view take(std::string_view& input) {
  uint16_t size = 0;
  if (input.size() < sizeof(size)) return {};
  std::memcpy(&size, input.data(), sizeof(size));
  input.remove_prefix(sizeof(size));
  const std::string_view part = input.substr(0, std::min<size_t>(size, input.size()));
  input.remove_prefix(part.size());
  return part;
}

void write(const std::string& folder, const std::string& name, std::string_view content) {
  auto file = File::open(join_path(folder, name), O_WRONLY | O_CREAT | O_TRUNC);
  if (file.ok() && !file->write(content).ok()) abort();
}

void read_all(const std::string& folder) {
  (void)recognise_mindspore_tree(folder);
  const auto dump = open_mindspore(folder);
  if (!dump.ok()) return;
  for (size_t row = 0; row < (*dump)->rows().size(); ++row) {
    (void)record_name((*dump)->rows()[row], op_of(**dump, (*dump)->rows()[row]).name);
    (void)(*dump)->file(row);
    const auto data = (*dump)->data(row);
    if (data.ok()) fuzz_touch(data->view);
  }
  for (const OpInfo& op : (*dump)->ops()) {
    for (const OpInput& input : op.inputs) {
      if (input.producer != kNoOp && input.producer >= (*dump)->ops().size()) abort();
    }
  }
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string rank = join_path(kFolder.path(), "rank_0");
  const std::string iteration = join_path(rank, "Net/0/0");
  std::filesystem::remove_all(rank);
  if (!make_directories(iteration).ok() || !make_directories(join_path(rank, "graphs")).ok()) abort();
  std::string name(take(input));
  std::replace(name.begin(), name.end(), '/', '_');
  std::erase(name, '\0');
  std::string content(take(input));
  constexpr size_t kHeaderEnd = 128;
  if (!content.starts_with("\x93NUMPY")) {
    content = std::string("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': ", 60) + content;
    if (content.size() < kHeaderEnd) content.resize(kHeaderEnd, ' ');
  }
  write(iteration, "Add.Default_Add-op0.0.0.7.output.0.DefaultFormat.Float32.npy", content);
  write(iteration, "123.npy", content);
  if (!name.empty() && name.size() < 256 && name != "." && name != "..") write(iteration, name, content);
  write(iteration, "statistic.csv", take(input));
  write(iteration, "mapping.csv", take(input));
  write(rank, "graphs/ms_output_trace_code_graph_0.pb", take(input));
  write(rank, "graphs/ms_output_trace_code_graph_0.ir", take(input));
  for (const std::string& level : {kFolder.path(), rank, iteration}) read_all(level);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
