// Names of the files in a MindSpore dump, taken apart: TYPE.NAME.TASK.STREAM.TIME.input|output.SLOT.FORMAT[.DTYPE].npy

#ifndef TENSORTAP_SYSTEM_MINDSPORE_NAME_PARSE_H_
#define TENSORTAP_SYSTEM_MINDSPORE_NAME_PARSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensortap::mindspore {

// A file name's fields; views into the name.
struct TensorFileName {
  std::string_view stem;  // "TYPE.NAME": one for each op
  std::string_view type;
  std::string_view name;  // may hold dots: names before 2.3 kept them
  std::string_view task;
  std::string_view stream;
  std::string_view format;
  std::string_view dtype;  // "" in names before 2.4
  uint64_t time = 0;       // microseconds
  uint32_t slot = 0;
  bool is_input = false;
};

inline constexpr std::string_view kParameterType = "Parameter";

// Split from the right. Nothing when the name is no tensor's, or when its slot or time is larger than a record can hold.
std::optional<TensorFileName> parse_tensor_file_name(std::string_view file_name);

// "TYPE.NAME.TASK.STREAM.TIME" without anything behind it: a file in the binary form DumpData.
bool is_dump_data_name(std::string_view file_name);

bool is_number(std::string_view text);  // one to nineteen digits
// The number behind `prefix`: rank_3 gives 3. Nothing for anything else, and for what an int32 does not hold.
std::optional<int32_t> parse_rank_folder(std::string_view name);
bool is_time_folder(std::string_view name);  // 20240131235959: fourteen digits that begin with a year

// A full name as file names have it: '/', '\\', '.' and ' ' become '_' (from 2.3 on).
std::string clean_name(std::string_view full_name);
// The same before 2.3: without its scope, for parameters with "--" for '/'.
std::string strip_scope(std::string_view full_name);
std::string dash_scope(std::string_view full_name);
// "…/Conv2D-op12" is "…/Conv2D" and "12"; a name without a number comes back whole, with "".
struct NumberedName {
  std::string_view name;
  std::string_view number;
};
NumberedName split_op_number(std::string_view name);
uint64_t op_number(std::string_view name);  // 0 when it has none

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_NAME_PARSE_H_
