// Any bytes as a small tree of msit: opened at four levels, and all of it read. The input is a row of parts, two bytes of size each: the
// name of an operation, that of a file, its content, the content of a file with a right name, that of op_param.json.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "system/msit/tree/reader.h"

namespace tensortap {
namespace {

void read_level(const std::string& folder) {
  (void)msit::recognise_tree(folder);
  const auto dump = msit::open_tree(folder);
  if (dump.ok()) fuzz_read(**dump);
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string dump = join_path(kFolder.path(), "msit_dump_20251120_200000");
  const std::string operation = join_path(dump, "tensors/0_1/0/1_Layer");
  std::filesystem::remove_all(dump);
  std::string name = fuzz_take_name(input);
  if (name.empty()) name = "0_Operation";
  const std::string after = join_path(join_path(operation, name), "after");
  if (!make_directories(after).ok() || !make_directories(join_path(operation, "before")).ok()) abort();
  name = fuzz_take_name(input);
  fuzz_write(after, name, fuzz_take<uint16_t>(input));
  fuzz_write(join_path(operation, "before"), "intensor0.bin", fuzz_take<uint16_t>(input));
  fuzz_write(operation, "op_param.json", fuzz_take<uint16_t>(input));
  for (const std::string& level : {kFolder.path(), dump, operation, after}) read_level(level);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
