// Any bytes as the files of a native dump: opened, read, repaired, opened and read again. The input is a row of files: for each of
// records.npy, ops.jsonl, tensors.npz, histograms.npy, run.json, sketches.npy and sketch_channels.npy four bytes of size, then the content;
// the rest is dropped.
//
// Inputs that do not begin with an npy header get a right one in front of records.npy, so that rows are reached at once.

#include <cstdio>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "fuzz_tree.h"
#include "registry/registry.h"
#include "system/tap/records_file.h"
#include "system/tap/tap_files.h"

namespace tensortap {
namespace {

size_t read_all(const Layout& layout, const std::string& folder) {
  const auto dump = layout.open(folder);
  return dump.ok() ? fuzz_read(**dump) : 0;
}

void run(std::string_view input) {
  static const TemporaryFolder kFolder;
  static const Layout* const kLayout = find_layout("tap");
  const std::string& folder = kFolder.path();
  std::string records(fuzz_take<uint32_t>(input));
  if (!records.starts_with("\x93NUMPY")) records = tap::make_records_header(records.size() / sizeof(RecordRow)) + records;
  fuzz_write(folder, tap::kRecordsFile, records);
  fuzz_write(folder, tap::kOpsFile, fuzz_take<uint32_t>(input));
  fuzz_write(folder, tap::kTensorsFile, fuzz_take<uint32_t>(input));
  fuzz_write(folder, tap::kHistogramsFile, fuzz_take<uint32_t>(input));
  const std::string_view manifest = fuzz_take<uint32_t>(input);
  std::remove(join_path(folder, tap::kRunFile).c_str());
  if (!manifest.empty()) fuzz_write(folder, tap::kRunFile, manifest);
  for (const std::string_view name : {tap::kSketchesFile, tap::kChannelsFile}) {
    std::string content(fuzz_take<uint32_t>(input));
    // Rows are reached at once.
    if (!content.empty() && !content.starts_with("\x93NUMPY")) content.insert(0, tap::kSketchesBegin, ' ');
    fuzz_write(folder, name, content);
  }
  const size_t before = read_all(*kLayout, folder);
  const auto report = kLayout->repair(folder, false);
  if (!report.ok()) return;
  if (read_all(*kLayout, folder) != before) abort();  // repairing must not lose readable records
  const auto again = kLayout->repair(folder, true);
  if (!again.ok() || !again->actions.empty()) abort();  // it may report again what is lost for good
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
