// Any bytes as a small MindSpore tree: opened at three levels, and all of it read. The input is a row of parts, two bytes of size each: the
// name of a tensor's file, its content, statistic.csv, mapping.csv, a graph's message and its text; the rest is dropped.
//
// A content that does not begin as an npy file does gets a right header's beginning, so that shapes are reached at once.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "system/mindspore/tree/reader.h"

namespace tensortap {
namespace {

void read_all(const std::string& folder) {
  (void)mindspore::recognise_tree(folder);
  const auto dump = mindspore::open_tree(folder);
  if (dump.ok()) fuzz_read(**dump);
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string rank = join_path(kFolder.path(), "rank_0");
  const std::string iteration = join_path(rank, "Net/0/0");
  std::filesystem::remove_all(rank);
  if (!make_directories(iteration).ok() || !make_directories(join_path(rank, "graphs")).ok()) abort();
  const std::string name = fuzz_take_name(input);
  std::string content(fuzz_take<uint16_t>(input));
  constexpr size_t kHeaderEnd = 128;
  if (!content.starts_with("\x93NUMPY")) {
    content = std::string("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': ", 60) + content;
    if (content.size() < kHeaderEnd) content.resize(kHeaderEnd, ' ');
  }
  fuzz_write(iteration, "Add.Default_Add-op0.0.0.7.output.0.DefaultFormat.Float32.npy", content);
  fuzz_write(iteration, "123.npy", content);
  fuzz_write(iteration, name, content);
  fuzz_write(iteration, "statistic.csv", fuzz_take<uint16_t>(input));
  fuzz_write(iteration, "mapping.csv", fuzz_take<uint16_t>(input));
  fuzz_write(rank, "graphs/ms_output_trace_code_graph_0.pb", fuzz_take<uint16_t>(input));
  fuzz_write(rank, "graphs/ms_output_trace_code_graph_0.ir", fuzz_take<uint16_t>(input));
  for (const std::string& level : {kFolder.path(), rank, iteration}) read_all(level);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
