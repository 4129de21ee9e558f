// Any bytes as a small tree of AscendCL's dump: recognised, opened at two levels, and all of it read. The input is a row of parts, two bytes of size each:
// the name of a file and its content, a table of statistics, mapping.csv; what is left over is a file with a number for its name.

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_touch.h"
#include "layout/ge/ge_reader.h"

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
  (void)recognise_ge(folder);
  const auto dump = open_ge(folder);
  if (!dump.ok()) return;
  for (size_t row = 0; row < (*dump)->rows().size(); ++row) {
    (void)record_name((*dump)->rows()[row], op_of(**dump, (*dump)->rows()[row]).name);
    (void)(*dump)->file(row);
    const auto data = (*dump)->data(row);
    if (data.ok()) fuzz_touch(data->view);
  }
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  const std::string time = join_path(kFolder.path(), "20260102030405");
  const std::string step = join_path(time, "0/net/1/0");
  std::filesystem::remove_all(time);
  if (!make_directories(step).ok()) abort();
  std::string name(take(input));
  std::replace(name.begin(), name.end(), '/', '_');
  std::erase(name, '\0');
  const std::string_view content = take(input);
  write(step, "Add.a.0.0.1763668800000000", content);
  write(step, "Add.a.0.0.1763668800000000.csv", take(input));
  if (!name.empty() && name.size() < 256 && name != "." && name != "..") write(step, name, content);
  write(step, "mapping.csv", take(input));
  write(step, "12345678901234567890", input);
  for (const std::string& level : {kFolder.path(), step}) read_all(level);
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
