// The numbers that DumpData files give to element types and to the order of elements (docs/formats/dump_data.md).

#ifndef TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NUMBERS_H_
#define TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace tensortap {

// How a tensor of a type is brought into one of our dtypes.
enum class DumpDataForm : uint8_t {
  kSame,   // element by element
  kPairs,  // two elements of the dtype each, which become the last dimension
  kBytes,  // no dtype of ours: the bytes as they are, without the shape
};

struct DumpDataType {
  int32_t number;         // in the file
  int32_t ge;             // in the interface of the system and in its compiler, -1 = has none
  std::string_view name;  // "DT_FLOAT"
  DType dtype;
  DumpDataForm form;
  bool is_ours;  // whether a tensor of the dtype is written under this number
};

// The row of a number, null for one that is not known.
const DumpDataType* find_dump_data_type(int64_t number);
// The row under which a dtype is written, null when there is none.
const DumpDataType* dump_data_type_of(DType dtype);
// The number that files use for a number of the interface; 0 (undefined) for what is not known.
int32_t dump_data_type_from_ge(int64_t number);

// Numbers of orders of elements. Files and interface share them.
inline constexpr int32_t kFormatNchw = 0;
inline constexpr int32_t kFormatNhwc = 1;
inline constexpr int32_t kFormatNd = 2;
inline constexpr int32_t kFormatNc1hwc0 = 3;
inline constexpr int32_t kFormatFractalZ = 4;
inline constexpr int32_t kFormatHwcn = 16;
inline constexpr int32_t kFormatFractalNz = 29;
inline constexpr int32_t kFormatNcdhw = 30;
inline constexpr int32_t kFormatNdc1hwc0 = 32;

// The order of an image in its usual order: NCHW of four dimensions, NCDHW of five; ND of other tensors and of those without floating-point
// elements.
int32_t image_format(const TensorDesc& desc);

// "NCHW"; "" for a number that is not known.
std::string_view dump_data_format_name(int64_t number);
// Takes the name as it is, ignoring case.
std::optional<int32_t> dump_data_format_number(std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NUMBERS_H_
