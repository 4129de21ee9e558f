// The format dump_data: the tensors of one op as AscendCL writes them. docs/formats/dump_data.md.

#ifndef TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_H_
#define TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_H_

#include "format/format.h"

namespace tensortap {

bool dump_data_row_holds(DType dtype);
bool dump_data_recognise(std::span<const std::byte> head);
// Named "input.0", "output.0", "buffer.0", "space.0", inputs first. A tensor without payload is left out.
Result<std::vector<NamedTensor>> dump_data_decode(std::span<const std::byte> bytes);
// A tensor whose name begins with "input." becomes an input; all others become outputs.
Result<std::string> dump_data_encode(std::span<const NamedTensor> tensors);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_H_
