// Names in MindSpore's trees: {op type}.{op name}.{task}.{stream}.{microseconds}.{input|output}.{slot}.{format}[.{dtype}].npy

#ifndef TENSORTAP_SYSTEM_MINDSPORE_NAMES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "system/mindspore/release.h"

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

// "Opdebug.Node_OpDebug.5.3.1700000000000000.output.0.json"
bool is_overflow_name(std::string_view file_name);

// "TYPE.NAME.TASK.STREAM.TIME" without anything behind it: a file in the binary form DumpData.
bool is_dump_data_name(std::string_view file_name);

bool is_number(std::string_view text);  // one to nineteen digits

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

inline constexpr std::string_view kHostFormat = "DefaultFormat";
// Of asynchronous dumps.
inline constexpr std::string_view kFlatFormat = "ND";
inline constexpr std::string_view kImageFormat = "NCHW";       // of four dimensions
inline constexpr std::string_view kBlockedFormat = "NC1HWC0";  // channels in blocks, which are the last dimension
inline constexpr std::string_view kLastFormat = "NHWC";        // channels are the last of four dimensions
inline constexpr std::string_view kLastOfFiveFormat = "NDHWC";

// The fields of a name; the texts are borrowed.
struct TensorName {
  std::string_view op_type;
  std::string_view op_name;
  uint64_t task = 0;
  uint64_t stream = 0;
  uint64_t time_us = 0;
  bool is_input = false;
  uint64_t slot = 0;
  std::string_view format = kHostFormat;
  std::string_view dtype;  // "" before 2.4
};

// Appends to `text`. No allocation when it has room.
void append_tensor_name(const TensorName& name, std::string& text);
void append_decimal(uint64_t number, std::string& text);

// The op name of a file, for a scoped name or a parameter's own. Holds no "/", control character or part that could leave the folder; bytes
// that are no UTF-8 become "_".
std::string clean_op_name(const TreeRules& rules, std::string_view full_name, bool is_parameter);
// The same for an op's type, which holds no dot either.
std::string clean_op_type(std::string_view type);
// A name for a cell of a .csv or a line of a text file: without commas, quotes, and control characters, which would end it.
std::string clean_cell(std::string_view text);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_NAMES_H_
