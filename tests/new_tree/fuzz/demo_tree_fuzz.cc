// Any bytes as a small tree "demo", all of it read. The input is a row of parts, two bytes of size each: a file's name, its content, the
// content of a file with a right name.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "system/demo/tree/tree.h"

namespace tensortap {
namespace {

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string dump = join_path(kFolder.path(), "dump");
  const std::string op = join_path(dump, "0/0_conv");
  std::filesystem::remove_all(dump);
  if (!make_directories(op).ok()) abort();
  fuzz_write(dump, std::string(demo::kManifest), "{}");
  const std::string name = fuzz_take_name(input);
  fuzz_write(op, name, fuzz_take<uint16_t>(input));
  fuzz_write(op, "out0.npy", fuzz_take<uint16_t>(input));
  const auto opened = demo::open_tree(dump);
  if (opened.ok()) fuzz_read(**opened);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
