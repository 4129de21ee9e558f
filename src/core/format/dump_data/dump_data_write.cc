// The beginning of a DumpData file of the version 2.0, and tensors out of and into payloads.

#include <algorithm>
#include <cstring>

#include "base/protobuf.h"
#include "base/text.h"
#include "format/dump_data/dump_data_fields.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap {
namespace {

using namespace dump_data_fields;  // NOLINT(google-build-using-namespace): numbers of this format and nothing else
using protozero::pbf_writer;

// Fields that are zero are left out, as every writer of this version of the message does.
void put_number(pbf_writer& writer, uint32_t tag, uint64_t value) {
  if (value != 0) writer.add_uint64(tag, value);
}
void put_text(pbf_writer& writer, uint32_t tag, const std::string& value) {
  if (!value.empty()) writer.add_string(tag, value);
}
// Negative numbers of 32 bits are written with 64.
uint64_t signed_number(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

void put_dims(pbf_writer& writer, uint32_t tag, const std::vector<uint64_t>& dims) {
  std::string message;
  pbf_writer inside(message);
  inside.add_packed_uint64(kShapeDim, dims.begin(), dims.end());
  writer.add_message(tag, message);
}

void put_origin(pbf_writer& writer, uint32_t tag, const DumpDataOrigin& origin) {
  if (origin.name.empty()) return;
  std::string message;
  pbf_writer inside(message);
  put_text(inside, kOriginName, origin.name);
  put_number(inside, kOriginOutput, origin.output);
  put_number(inside, kOriginType, signed_number(origin.type));
  put_number(inside, kOriginFormat, signed_number(origin.format));
  writer.add_message(tag, message);
}

void put_field(pbf_writer& writer, uint32_t tag, TensorFieldKind kind, const DumpDataTensor& tensor) {
  switch (kind) {
    case TensorFieldKind::kType:
      return put_number(writer, tag, signed_number(tensor.type));
    case TensorFieldKind::kFormat:
      return put_number(writer, tag, signed_number(tensor.format));
    case TensorFieldKind::kShape:
      return put_dims(writer, tag, tensor.dims);
    case TensorFieldKind::kOriginalShape:
      return put_dims(writer, tag, tensor.original_dims);
    case TensorFieldKind::kOrigin:
      return put_origin(writer, tag, tensor.origin);
    case TensorFieldKind::kSize:
      return put_number(writer, tag, tensor.size);
    case TensorFieldKind::kSubFormat:
      return put_number(writer, tag, signed_number(tensor.sub_format));
    case TensorFieldKind::kAddress:
      return put_number(writer, tag, tensor.address);
    case TensorFieldKind::kOffset:
      return put_number(writer, tag, tensor.offset);
    case TensorFieldKind::kArgIndex:
      return put_number(writer, tag, tensor.arg_index);
    case TensorFieldKind::kInputType:
      return put_number(writer, tag, tensor.input_type);
    case TensorFieldKind::kData:
    case TensorFieldKind::kNone:
      return;
  }
}

void put_tensors(pbf_writer& writer, uint32_t tag, std::span<const TensorFieldKind> fields, const std::vector<DumpDataTensor>& tensors) {
  std::string message;
  for (const DumpDataTensor& tensor : tensors) {
    message.clear();
    pbf_writer inside(message);
    for (uint32_t i = 0; i < fields.size(); ++i) put_field(inside, i, fields[i], tensor);
    writer.add_message(tag, message);
  }
}

std::string make_message(const DumpDataFile& file) {
  std::string message;
  pbf_writer writer(message);
  put_text(writer, kDumpVersion, file.version);
  put_number(writer, kDumpTime, file.time_us);
  put_tensors(writer, kDumpOutput, kOutputFields, file.outputs);
  put_tensors(writer, kDumpInput, kInputFields, file.inputs);
  put_tensors(writer, kDumpBuffer, kSpaceFields, file.buffers);
  put_text(writer, kDumpOpName, file.op_name);
  for (const DumpDataAttribute& attribute : file.attributes) {
    std::string pair;
    pbf_writer inside(pair);
    put_text(inside, kAttributeName, attribute.name);
    put_text(inside, kAttributeValue, attribute.value);
    writer.add_message(kDumpAttribute, pair);
  }
  put_tensors(writer, kDumpSpace, kSpaceFields, file.workspaces);
  put_text(writer, kDumpFailure, file.message);
  return message;
}

std::byte reversed_bits(std::byte value) {
  auto bits = static_cast<uint8_t>(value);
  bits = static_cast<uint8_t>((bits & 0xf0) >> 4 | (bits & 0x0f) << 4);
  bits = static_cast<uint8_t>((bits & 0xcc) >> 2 | (bits & 0x33) << 2);
  return static_cast<std::byte>((bits & 0xaa) >> 1 | (bits & 0x55) << 1);
}

}  // namespace

bool dump_data_holds(DType dtype) { return dump_data_type_of(dtype) != nullptr; }

DumpDataTensor describe_dump_data(const TensorDesc& desc) {
  DumpDataTensor tensor;
  const DumpDataType* type = dump_data_type_of(desc.dtype);
  tensor.type = type == nullptr ? 0 : type->number;
  tensor.format = kFormatNd;
  for (const int64_t dim : desc.shape.dims()) tensor.dims.push_back(static_cast<uint64_t>(dim));
  tensor.original_dims = tensor.dims;
  tensor.size = packed_bytes(desc.dtype, desc.shape.numel().value_or(0)).value_or(0);
  return tensor;
}

Result<std::string> make_dump_data_head(const DumpDataFile& file) {
  const std::string message = make_message(file);
  if (message.empty() || message.size() > INT32_MAX) return unsupported("DumpData: the description of the op is too large for its format");
  const uint64_t length = message.size();
  std::string head(sizeof(length), '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  return head + message;
}

void reorder_dump_data_bits(DType dtype, std::span<std::byte> packed) {
  if (dtype == DType::kUInt1) std::ranges::transform(packed, packed.begin(), reversed_bits);
}

Result<NamedTensor> load_dump_data(const DumpDataTensor& tensor, std::span<const std::byte> payload, std::string name) {
  TENSORTAP_ASSIGN_OR_RETURN(const TensorDesc desc, dump_data_desc(tensor));
  const uint64_t bytes = packed_bytes(desc.dtype, desc.shape.numel().value_or(0)).value_or(0);
  if (payload.size() < bytes) return corrupt(concat("DumpData: ", name, " takes ", bytes, " bytes, ", payload.size(), " are there"));
  NamedTensor loaded{std::move(name), {desc, payload.data(), nullptr}, nullptr};
  if (desc.dtype != DType::kUInt1) return loaded;
  auto reordered = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(bytes));
  reorder_dump_data_bits(desc.dtype, *reordered);
  loaded.view.data = reordered->data();
  loaded.owner = std::move(reordered);
  return loaded;
}

}  // namespace tensortap
