// For tests: the lines of what the real MindSpore wrote, in tests/golden/mindspore.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_GOLDEN_LINES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_GOLDEN_LINES_H_

#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/tree/writer_golden.h"

namespace tensortap::mindspore {

// The lines of a .jsonl file.
inline std::vector<Json> golden_lines(std::string_view name) {
  std::vector<Json> lines;
  const auto text = read_file(golden_path(name));
  if (!text.ok()) return lines;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    auto parsed = parse_json(line, name);
    if (parsed.ok()) lines.push_back(*std::move(parsed));
  }
  return lines;
}

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_GOLDEN_LINES_H_
