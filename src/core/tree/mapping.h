// mapping.csv: the names of files whose own names were too long for the file system, one line "STORED,NAME" each.

#ifndef TENSORTAP_TREE_MAPPING_H_
#define TENSORTAP_TREE_MAPPING_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap {

inline constexpr std::string_view kMappingFile = "mapping.csv";

// The views lead into the text.
struct MappingLine {
  std::string_view stored;  // "" if the line has no comma
  std::string_view name;
  std::string_view line;
};

// All lines that are not empty, without their ends.
std::vector<MappingLine> mapping_lines(std::string_view text);
// The names by what is stored; of two lines for one file the later one counts.
std::map<std::string, std::string, std::less<>> mapped_names(std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_MAPPING_H_
