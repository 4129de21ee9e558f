// Names in a tree of AscendCL: how they are made and what they say. docs/layouts/ge.md.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_FILE_NAMES_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_FILE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensortap::ascend {

inline constexpr std::string_view kDataType = "Data";  // of the graph's inputs
inline constexpr std::string_view kConstType = "Const";
inline constexpr std::string_view kOverflowType = "Opdebug";
inline constexpr std::string_view kOverflowName = "Node_OpDebug";
inline constexpr std::string_view kExceptionName = "exception_info";
inline constexpr std::string_view kStatisticSuffix = ".csv";
inline constexpr std::string_view kExceptionFolders = "extra-info/data-dump";

// A part of a name: blanks, dots and slashes become "_", and so do control characters, which would break the lines of mapping.csv. "_" for
// "".
std::string clean_name(std::string_view text);

// The same with nothing but letters, digits, "_" and "-", which is all that the vendor's tools take in a file's name.
std::string portable_name(std::string_view text);

// The parts of a file's name.
struct FileName {
  std::string_view type;
  std::string_view name;
  uint64_t task = 0;
  uint64_t stream = 0;
  uint64_t time = 0;  // microseconds, or of exceptions a date with milliseconds in 17 digits
  bool statistic = false;
  bool exception = false;
};

// "TYPE.NAME.TASK.STREAM.TIME", with a number more before TASK, with the numbers of slices or FFTSPLUS behind it; of failed ops
// "TYPE.NAME.TASK.DATE" and "exception_info.STREAM.TASK.DATE"; with ".csv" for statistics. Views into `file_name`. Nothing for other names.
std::optional<FileName> parse_file_name(std::string_view file_name);
// Whether it can be a name that mapping.csv explains.
bool is_hashed_name(std::string_view file_name);

bool is_whole_number(std::string_view text);  // one to twenty digits

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_FILE_NAMES_H_
