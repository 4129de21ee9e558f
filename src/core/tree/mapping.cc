#include "tree/mapping.h"

#include "base/text.h"

namespace tensortap {

std::vector<MappingLine> mapping_lines(std::string_view text) {
  std::vector<MappingLine> lines;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t comma = line.find(',');
    if (comma != std::string_view::npos) {
      lines.push_back({line.substr(0, comma), line.substr(comma + 1), line});
    } else if (!line.empty()) {
      lines.push_back({{}, {}, line});
    }
  }
  return lines;
}

std::map<std::string, std::string, std::less<>> mapped_names(std::string_view text) {
  std::map<std::string, std::string, std::less<>> names;
  for (const MappingLine& line : mapping_lines(text)) {
    if (!line.stored.empty()) names.insert_or_assign(std::string(line.stored), std::string(line.name));
  }
  return names;
}

}  // namespace tensortap
