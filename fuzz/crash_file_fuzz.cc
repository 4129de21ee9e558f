// Any bytes as a crash file: read, described and every tensor taken out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "crash/crash_file.h"
#include "crash/crash_session.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tensortap::TemporaryFolder kFolder;
  const std::string path = tensortap::join_path(kFolder.path(), "crash-1.bin");
  if (!tensortap::write_file_atomically(path, {reinterpret_cast<const char*>(data), size}).ok()) return 0;
  const auto crash = tensortap::CrashFile::read(path);
  if (!crash.ok()) return 0;
  static_cast<void>((*crash)->to_json());
  static_cast<void>((*crash)->known_ops());
  static_cast<void>(tensortap::parse_crash_session((*crash)->session()));
  for (size_t row = 0; row < (*crash)->rows().size() && (*crash)->rows()[row].bytes < (size_t{1} << 24); ++row) {
    static_cast<void>((*crash)->data(row));
  }
  return 0;
}
