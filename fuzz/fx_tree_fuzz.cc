// Any bytes as a small tree of an FX data dump: opened at three levels, and all of it read. The input is a row of parts, two bytes of size
// each: a file's name, its content, the content of a file with a right name.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "system/torchair/tree/reader.h"

namespace tensortap {
namespace {

void read_level(const std::string& folder) {
  (void)torchair::recognise_tree(folder);
  const auto dump = torchair::open_tree(folder);
  if (dump.ok()) fuzz_read(**dump);
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string rank = join_path(kFolder.path(), "worldsize1_global_rank0");
  const std::string step = join_path(rank, "graph_1/0");
  std::filesystem::remove_all(rank);
  if (!make_directories(step).ok()) abort();
  const std::string name = fuzz_take_name(input);
  fuzz_write(step, name, fuzz_take<uint16_t>(input));
  fuzz_write(step, "add-aten.add.Tensor.INPUT.0.20261120212300734444.npy", fuzz_take<uint16_t>(input));
  for (const std::string& level : {kFolder.path(), rank, step}) read_level(level);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
