// Any bytes as the files of a native dump: opened, read, mended, opened and read again. The input is a row of files: for each of records.npy, ops.jsonl,
// tensors.npz, histograms.npy and run.json four bytes of size, then the content; what is left over is dropped.
//
// Inputs that do not begin with an npy header get a right one in front of records.npy, so that rows are reached at once.

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_touch.h"
#include "layout/tap/records_file.h"
#include "layout/tap/tap_files.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

std::string_view take(std::string_view& input) {
  uint32_t size = 0;
  if (input.size() < sizeof(size)) return {};
  std::memcpy(&size, input.data(), sizeof(size));
  input.remove_prefix(sizeof(size));
  const std::string_view part = input.substr(0, std::min<size_t>(size, input.size()));
  input.remove_prefix(part.size());
  return part;
}

void write(const std::string& folder, std::string_view name, std::string_view content) {
  const std::string path = join_path(folder, name);
  auto file = File::open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.ok() || !file->write(content).ok()) abort();
}

size_t read_all(const Layout& layout, const std::string& folder) {
  const auto dump = layout.open(folder);
  if (!dump.ok()) return 0;
  size_t tensors = 0;
  for (size_t i = 0; i < (*dump)->rows().size(); ++i) {
    (void)record_name((*dump)->rows()[i], op_of(**dump, (*dump)->rows()[i]).name);
    (void)(*dump)->histogram(i);
    const auto data = (*dump)->data(i);
    if (!data.ok()) continue;
    fuzz_touch(data->view);
    ++tensors;
  }
  return tensors;
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  static const Layout* const kLayout = find_layout("tap");
  const std::string& folder = kFolder.path();
  std::string records(take(input));
  if (!records.starts_with("\x93NUMPY")) records = make_records_header(records.size() / sizeof(RecordRow)) + records;
  write(folder, kRecordsFile, records);
  write(folder, kOpsFile, take(input));
  write(folder, kTensorsFile, take(input));
  write(folder, kHistogramsFile, take(input));
  const std::string_view manifest = take(input);
  std::remove(join_path(folder, kRunFile).c_str());
  if (!manifest.empty()) write(folder, kRunFile, manifest);
  const size_t before = read_all(*kLayout, folder);
  const auto report = kLayout->repair(folder, false);
  if (!report.ok()) return;
  if (read_all(*kLayout, folder) != before) abort();  // mending must not lose what could be read
  const auto again = kLayout->repair(folder, true);
  if (!again.ok() || !again->healthy) abort();
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
