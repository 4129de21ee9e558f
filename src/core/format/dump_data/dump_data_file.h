// DumpData files: what AscendCL, and MindSpore on its devices, write for one execution of one op. Read from untrusted bytes, and made.
// Shared by the format dump_data, the layout ge and `tensortap convert`. docs/formats/dump_data.md is the authority.

#ifndef TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FILE_H_
#define TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/format.h"
#include "tensor/tensor.h"

namespace tensortap {

// The output from which the system's compiler made this one when it changed the op.
struct DumpDataOrigin {
  std::string name;
  uint32_t output = 0;
  int32_t type = 0;    // as stored: numbers of the compiler
  int32_t format = 0;  //
};

// One input, output, buffer or workspace.
struct DumpDataTensor {
  int32_t type = 0;    // number of DumpDataType
  int32_t format = 0;  // the low eight bits of the number of an order of elements
  int32_t sub_format = 0;
  std::vector<uint64_t> dims;           // as the elements lie in memory
  std::vector<uint64_t> original_dims;  // as the author of the model sees them; may be empty
  uint64_t size = 0;                    // of the payload in bytes
  uint64_t address = 0;
  uint64_t offset = 0;  // a number of the system's, no place in the file
  uint32_t arg_index = 0;
  uint32_t input_type = 0;
  DumpDataOrigin origin;
  // Where the payload lies in the file. Absent: the header describes it, but it was not written (its memory had no address).
  uint64_t payload_at = 0;
  bool absent = false;
};

struct DumpDataAttribute {
  std::string name;
  std::string value;
};

enum class DumpDataFraming : uint8_t {
  kHeader,   // length, message, payloads: version 2.0
  kMessage,  // one message with everything in it: version 1
  kNano,     // the fixed structures of small devices
};

struct DumpDataFile {
  DumpDataFraming framing = DumpDataFraming::kHeader;
  std::string version = "2.0";
  uint64_t time_us = 0;
  std::string op_name;
  std::string message;  // what the system had to say about a failure
  std::vector<DumpDataTensor> inputs;
  std::vector<DumpDataTensor> outputs;
  std::vector<DumpDataTensor> buffers;
  std::vector<DumpDataTensor> workspaces;
  std::vector<DumpDataAttribute> attributes;
  uint64_t left_over = 0;  // bytes behind the last payload
};

// Whether `head` (the first bytes of a file, 64 are enough) begins as such a file does.
bool is_dump_data(std::span<const std::byte> head);

// How many of a file's first bytes parse_dump_data() must see. `head` holds the first 16 bytes, or all of a shorter file. Errors: kCorrupt.
Result<uint64_t> dump_data_head_bytes(std::span<const std::byte> head, uint64_t file_bytes);

// Describes a file of `file_bytes` bytes by its first ones. Every payload is inside the file. Errors: kCorrupt, with what is wrong.
Result<DumpDataFile> parse_dump_data(std::span<const std::byte> head, uint64_t file_bytes);

// Describes a tensor in our terms: a shape that we cannot represent becomes flat, a type that we do not have becomes bytes. Errors:
// kCorrupt when the payload is too small.
Result<TensorDesc> dump_data_desc(const DumpDataTensor& tensor);

// The tensor in `payload`, its `size` bytes; borrows from them, or from its owner where the bits had to be put in order.
Result<NamedTensor> load_dump_data(const DumpDataTensor& tensor, std::span<const std::byte> payload, std::string name);

// Whether the format has a number for this dtype, so that its tensors come back unchanged.
bool dump_data_holds(DType dtype);
// The description of a tensor to be written, in the order ND. `desc` is of a dtype that dump_data_holds() and has a size.
DumpDataTensor describe_dump_data(const TensorDesc& desc);
// The beginning of a file: the length and the message. The payloads follow without a gap: inputs, outputs, buffers, workspaces, `size`
// bytes each. Errors: kUnsupported when the message is larger than the format allows.
Result<std::string> make_dump_data_head(const DumpDataFile& file);
// Packed elements as they lie in a file, from elements as we have them or back, in place. Only kUInt1 changes: there the first element is
// the highest bit.
void reorder_dump_data_bits(DType dtype, std::span<std::byte> packed);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FILE_H_
