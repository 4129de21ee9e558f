// Any bytes as a small tree of AscendCL's dump: recognised, opened at two levels, all of it read, repaired and read again. The input is a
// row of parts, two bytes of size each: the name of a file and its content, a table of statistics, mapping.csv; the rest is a file with a
// number for its name.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "system/ascend/tree/reader.h"
#include "system/ascend/tree/repair.h"

namespace tensortap {
namespace {

size_t read_all(const std::string& folder) {
  (void)ascend::recognise_tree(folder);
  const auto dump = ascend::open_tree(folder);
  return dump.ok() ? fuzz_read(**dump) : 0;
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string time = join_path(kFolder.path(), "20260102030405");
  const std::string step = join_path(time, "0/net/1/0");
  std::filesystem::remove_all(time);
  if (!make_directories(step).ok()) abort();
  const std::string name = fuzz_take_name(input);
  const std::string_view content = fuzz_take<uint16_t>(input);
  fuzz_write(step, "Add.a.0.0.1763668800000000", content);
  fuzz_write(step, "Add.a.0.0.1763668800000000.csv", fuzz_take<uint16_t>(input));
  fuzz_write(step, name, content);
  fuzz_write(step, "mapping.csv", fuzz_take<uint16_t>(input));
  fuzz_write(step, "12345678901234567890", input);
  const size_t before = read_all(kFolder.path());
  if (read_all(step) != before) abort();
  const auto report = ascend::repair_tree(kFolder.path(), false);
  if (!report.ok()) return;
  if (read_all(kFolder.path()) < before) abort();  // repairing must not lose readable records
  const auto again = ascend::repair_tree(kFolder.path(), true);
  if (!again.ok() || !again->healthy) abort();
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
