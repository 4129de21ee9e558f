// What the fuzz targets of trees share: an input taken apart into files, and a dump of which everything is read.

#ifndef TENSORTAP_FUZZ_FUZZ_TREE_H_
#define TENSORTAP_FUZZ_FUZZ_TREE_H_

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/files.h"
#include "fuzz_touch.h"
#include "trace/dump_index.h"

namespace tensortap {

// Takes the next part off the input: its size, a number of type Size, then that many bytes, or fewer if the input ends.
template <class Size>
std::string_view fuzz_take(std::string_view& input) {
  Size size = 0;
  if (input.size() < sizeof(size)) return {};
  std::memcpy(&size, input.data(), sizeof(size));
  input.remove_prefix(sizeof(size));
  const std::string_view part = input.substr(0, std::min<size_t>(size, input.size()));
  input.remove_prefix(part.size());
  return part;
}

// The next part as a name that a file can have, "" where it cannot be one.
inline std::string fuzz_take_name(std::string_view& input) {
  std::string name(fuzz_take<uint16_t>(input));
  std::replace(name.begin(), name.end(), '/', '_');
  std::erase(name, '\0');
  return name.size() < 256 && name != "." && name != ".." ? name : std::string();
}

inline void fuzz_write(const std::string& folder, std::string_view name, std::string_view content) {
  if (name.empty()) return;
  auto file = File::open(join_path(folder, name), O_WRONLY | O_CREAT | O_TRUNC);
  // A name may be that of a folder, or none for this file system.
  if (file.ok() && !file->write(content).ok()) abort();
}

// Reads all there is of a dump; returns how many tensors could be read.
inline size_t fuzz_read(const DumpIndex& dump) {
  size_t tensors = 0;
  for (size_t row = 0; row < dump.rows().size(); ++row) {
    (void)record_name(dump.rows()[row], op_of(dump, dump.rows()[row]).name);
    (void)dump.file(row);
    (void)dump.histogram(row);
    (void)dump.sketch(row);
    const auto data = dump.data(row);
    if (!data.ok()) continue;
    fuzz_touch(data->view);
    ++tensors;
  }
  for (const OpInfo& op : dump.ops()) {
    for (const OpInput& input : op.inputs) {
      if (input.producer != kNoOp && input.producer >= dump.ops().size()) abort();
    }
  }
  return tensors;
}

}  // namespace tensortap

#endif  // TENSORTAP_FUZZ_FUZZ_TREE_H_
