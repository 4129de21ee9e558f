// Names of tensor files: {op type}.{op name}.{task}.{stream}.{microseconds}.{input|output}.{slot}.{format}[.{dtype}].npy

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TENSOR_NAME_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TENSOR_NAME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "system/mindspore/release.h"

namespace tensortap::mindspore {

inline constexpr std::string_view kHostFormat = "DefaultFormat";
inline constexpr std::string_view kBlockedFormat = "NC1HWC0";  // channels in blocks, which are the last dimension

// The fields of a name; the texts are borrowed.
struct MindsporeTensorName {
  std::string_view op_type;
  std::string_view op_name;
  uint64_t task = 0;
  uint64_t stream = 0;
  uint64_t time_us = 0;
  bool is_input = false;
  uint64_t slot = 0;
  std::string_view format = kHostFormat;
  std::string_view dtype;  // "" before 2.4
  friend bool operator==(const MindsporeTensorName&, const MindsporeTensorName&) = default;
};

// False when `file_name` is no such name; `name` borrows from it. Split from the right, since old op names hold dots.
bool parse_tensor_name(std::string_view file_name, MindsporeTensorName& name);
// Appends to `text`. No allocation when it has room.
void append_tensor_name(const MindsporeTensorName& name, std::string& text);
void append_decimal(uint64_t number, std::string& text);

// The op name of a file, for a scoped name or a parameter's own. Holds no "/", control character or part that could leave the folder; bytes that
// are no UTF-8 become "_".
std::string clean_op_name(const TreeRules& rules, std::string_view full_name, bool is_parameter);
// The same for an op's type, which holds no dot either.
std::string clean_op_type(std::string_view type);
// A name for a cell of a .csv or a line of a text file: without commas, quotes, and control characters, which would end it.
std::string clean_cell(std::string_view text);

// Takes the field behind the last dot off `text`. False when there is no dot.
bool take_last_field(std::string_view& text, std::string_view& field);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TENSOR_NAME_H_
