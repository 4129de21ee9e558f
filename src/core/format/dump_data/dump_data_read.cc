// DumpData files of the versions 1 and 2.0: the message, and where the payloads lie.

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "base/protobuf.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_fields.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_nano.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap {
namespace {

using namespace dump_data_fields;  // NOLINT(google-build-using-namespace): numbers of this format and nothing else
using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLargestMessage = INT32_MAX;
constexpr uint64_t kMostDims = 4096;

struct BadField {};

Status bad_file(std::string_view what) { return corrupt(concat("DumpData: ", what)); }

uint64_t read_length(std::span<const std::byte> head) {
  uint64_t length = 0;
  std::memcpy(&length, head.data(), kLengthBytes);
  return length;
}

// protozero believes the caller about wire types.
uint64_t number_of(pbf_reader& reader) {
  if (reader.wire_type() != pbf_wire_type::varint) throw BadField{};
  return reader.get_uint64();
}
int32_t enum_of(pbf_reader& reader) { return static_cast<int32_t>(number_of(reader)); }
std::string_view bytes_of(pbf_reader& reader) {
  if (reader.wire_type() != pbf_wire_type::length_delimited) throw BadField{};
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}
pbf_reader inside(pbf_reader& reader) {
  const std::string_view bytes = bytes_of(reader);
  return pbf_reader(bytes.data(), bytes.size());
}

void read_dims(pbf_reader message, std::vector<uint64_t>& dims) {
  dims.clear();
  while (message.next()) {
    if (message.tag() != kShapeDim) {
      message.skip();
    } else if (message.wire_type() == pbf_wire_type::varint) {
      dims.push_back(message.get_uint64());
    } else if (message.wire_type() == pbf_wire_type::length_delimited) {
      for (const uint64_t dim : message.get_packed_uint64()) {
        if (dims.size() > kMostDims) throw BadField{};
        dims.push_back(dim);
      }
    } else {
      throw BadField{};
    }
    if (dims.size() > kMostDims) throw BadField{};
  }
}

DumpDataOrigin read_origin(pbf_reader message) {
  DumpDataOrigin origin;
  while (message.next()) {
    switch (message.tag()) {
      case kOriginName:
        origin.name = bytes_of(message);
        break;
      case kOriginOutput:
        origin.output = static_cast<uint32_t>(number_of(message));
        break;
      case kOriginType:
        origin.type = enum_of(message);
        break;
      case kOriginFormat:
        origin.format = enum_of(message);
        break;
      default:
        message.skip();
    }
  }
  return origin;
}

// Data inside of the message, for the version 1.
struct Inline {
  bool present = false;
  std::string_view bytes;
};

void set_tensor_field(pbf_reader& reader, TensorFieldKind kind, DumpDataTensor& tensor, Inline& data) {
  switch (kind) {
    case TensorFieldKind::kType:
      tensor.type = enum_of(reader);
      break;
    case TensorFieldKind::kFormat:
      tensor.format = enum_of(reader);
      break;
    case TensorFieldKind::kShape:
      read_dims(inside(reader), tensor.dims);
      break;
    case TensorFieldKind::kOriginalShape:
      read_dims(inside(reader), tensor.original_dims);
      break;
    case TensorFieldKind::kOrigin:
      tensor.origin = read_origin(inside(reader));
      break;
    case TensorFieldKind::kData:
      data = {true, bytes_of(reader)};
      break;
    case TensorFieldKind::kSize:
      tensor.size = number_of(reader);
      break;
    case TensorFieldKind::kSubFormat:
      tensor.sub_format = enum_of(reader);
      break;
    case TensorFieldKind::kAddress:
      tensor.address = number_of(reader);
      break;
    case TensorFieldKind::kOffset:
      tensor.offset = number_of(reader);
      break;
    case TensorFieldKind::kArgIndex:
      tensor.arg_index = static_cast<uint32_t>(number_of(reader));
      break;
    case TensorFieldKind::kInputType:
      tensor.input_type = static_cast<uint32_t>(number_of(reader));
      break;
    case TensorFieldKind::kNone:
      reader.skip();
  }
}

struct Message {
  DumpDataFile file;
  std::vector<Inline> data;  // of inputs, outputs, buffers, workspaces, each in its order
};

class MessageReader {
 public:
  Message read(pbf_reader reader) {
    message_.file.version.clear();
    while (reader.next()) read_field(reader);
    for (std::vector<Inline>* part : {&inputs_, &outputs_, &buffers_, &workspaces_}) {
      message_.data.insert(message_.data.end(), part->begin(), part->end());
    }
    return std::move(message_);
  }

 private:
  void read_tensor(pbf_reader reader, std::span<const TensorFieldKind> fields, std::vector<DumpDataTensor>& tensors,
                   std::vector<Inline>& data) {
    DumpDataTensor tensor;
    Inline content;
    while (reader.next()) {
      set_tensor_field(reader, reader.tag() < fields.size() ? fields[reader.tag()] : TensorFieldKind::kNone, tensor, content);
    }
    tensors.push_back(std::move(tensor));
    data.push_back(content);
  }

  DumpDataAttribute read_attribute(pbf_reader reader) {
    DumpDataAttribute attribute;
    while (reader.next()) {
      if (reader.tag() == kAttributeName) {
        attribute.name = bytes_of(reader);
      } else if (reader.tag() == kAttributeValue) {
        attribute.value = bytes_of(reader);
      } else {
        reader.skip();
      }
    }
    return attribute;
  }

  void read_field(pbf_reader& reader) {
    DumpDataFile& file = message_.file;
    switch (reader.tag()) {
      case kDumpVersion:
        file.version = bytes_of(reader);
        break;
      case kDumpTime:
        file.time_us = number_of(reader);
        break;
      case kDumpOutput:
        read_tensor(inside(reader), kOutputFields, file.outputs, outputs_);
        break;
      case kDumpInput:
        read_tensor(inside(reader), kInputFields, file.inputs, inputs_);
        break;
      case kDumpBuffer:
        read_tensor(inside(reader), kSpaceFields, file.buffers, buffers_);
        break;
      case kDumpSpace:
        read_tensor(inside(reader), kSpaceFields, file.workspaces, workspaces_);
        break;
      case kDumpOpName:
        file.op_name = bytes_of(reader);
        break;
      case kDumpAttribute:
        file.attributes.push_back(read_attribute(inside(reader)));
        break;
      case kDumpFailure:
        file.message = bytes_of(reader);
        break;
      default:
        reader.skip();
    }
  }

  Message message_;
  std::vector<Inline> inputs_;
  std::vector<Inline> outputs_;
  std::vector<Inline> buffers_;
  std::vector<Inline> workspaces_;
};

Result<Message> read_message(std::span<const std::byte> bytes) {
  try {
    Message message = MessageReader().read(pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    // A text that begins like a message by accident does not have this.
    if (message.file.version.empty() || message.file.version[0] < '0' || message.file.version[0] > '9') {
      return bad_file("the message has no version: the file is damaged or something else");
    }
    return message;
  } catch (const BadField&) {
    return bad_file("a field of the message has the wrong wire type: the file is damaged or something else");
  } catch (const std::exception& error) {
    return bad_file(concat("the message is damaged (", error.what(), ")"));
  }
}

std::vector<DumpDataTensor*> in_payload_order(DumpDataFile& file) {
  std::vector<DumpDataTensor*> all;
  for (std::vector<DumpDataTensor>* part : {&file.inputs, &file.outputs, &file.buffers, &file.workspaces}) {
    for (DumpDataTensor& tensor : *part) all.push_back(&tensor);
  }
  return all;
}

// Payloads lie one after another behind the message. Where they are too few, those without an address were not written: memory that the
// system could not name.
Status place_payloads(DumpDataFile& file, uint64_t begin, uint64_t file_bytes) {
  const std::vector<DumpDataTensor*> tensors = in_payload_order(file);
  const uint64_t there = file_bytes - begin;
  uint64_t all = 0;
  uint64_t with_address = 0;
  for (const DumpDataTensor* tensor : tensors) {
    if (__builtin_add_overflow(all, tensor->size, &all)) return bad_file("the sizes of the tensors are too large");
    if (tensor->address != 0) with_address += tensor->size;
  }
  const bool some_absent = all > there && with_address > 0 && with_address == there;
  if (all > there && !some_absent) {
    return bad_file(concat("the tensors take ", all, " bytes, the payloads have ", there, ": the file is cut short"));
  }
  uint64_t at = begin;
  for (DumpDataTensor* tensor : tensors) {
    tensor->absent = some_absent && tensor->address == 0 && tensor->size > 0;
    tensor->payload_at = at;
    if (!tensor->absent) at += tensor->size;
  }
  file.left_over = file_bytes - at;
  return {};
}

Result<DumpDataFile> read_with_header(std::span<const std::byte> bytes, uint64_t file_bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(Message message, read_message(bytes));
  TENSORTAP_RETURN_IF_ERROR(place_payloads(message.file, kLengthBytes + bytes.size(), file_bytes));
  return std::move(message.file);
}

Result<DumpDataFile> read_whole_message(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(Message message, read_message(bytes));
  DumpDataFile& file = message.file;
  file.framing = DumpDataFraming::kMessage;
  const std::vector<DumpDataTensor*> tensors = in_payload_order(file);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Inline& data = message.data[i];
    tensors[i]->absent = !data.present && tensors[i]->size > 0;
    if (!data.present) continue;
    tensors[i]->size = data.bytes.size();
    tensors[i]->payload_at = static_cast<uint64_t>(data.bytes.data() - reinterpret_cast<const char*>(bytes.data()));
  }
  return std::move(file);
}

// "\n\x03" and a version such as "2.0": the first field of a message as every writer has it.
bool begins_with_version(std::span<const std::byte> bytes) {
  if (bytes.size() < 5) return false;
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  return at(0) == 0x0a && at(1) == 3 && at(2) >= '0' && at(2) <= '9' && at(3) == '.' && at(4) >= '0' && at(4) <= '9';
}

bool has_header(std::span<const std::byte> head, uint64_t file_bytes) {
  if (head.size() <= kLengthBytes) return false;
  const uint64_t length = read_length(head);
  return length > 0 && length <= kLargestMessage && length <= file_bytes - kLengthBytes;
}

}  // namespace

bool is_dump_data(std::span<const std::byte> head) {
  if (head.size() > kLengthBytes && read_length(head) - 1 < kLargestMessage) {
    const auto rest = first_of(after(head, kLengthBytes), read_length(head));
    if (is_dump_data_nano(rest) || begins_with_version(rest)) return true;
  }
  if (!begins_with_version(head) || head.size() < 6) return false;
  // In version 1 the next field must also be one of the message's.
  const auto tag = static_cast<unsigned char>(head[5]);
  return head[2] == std::byte{'1'} && (tag == 0x10 || (tag % 8 == 2 && tag / 8 >= 3 && tag / 8 <= 9));
}

Result<uint64_t> dump_data_head_bytes(std::span<const std::byte> head, uint64_t file_bytes) {
  if (file_bytes == 0) return bad_file("the file is empty");
  if (has_header(head, file_bytes)) return kLengthBytes + read_length(head);
  if (begins_with_version(head)) {
    if (file_bytes > kLargestMessage) return bad_file("larger than a message can be");
    return file_bytes;
  }
  if (file_bytes <= kLengthBytes) return bad_file(concat(file_bytes, " bytes are too few: the file is cut short"));
  return bad_file(concat("the length of its message (", read_length(head), ") does not fit a file of ", file_bytes,
                         " bytes: the file is cut short, damaged or something else"));
}

Result<DumpDataFile> parse_dump_data(std::span<const std::byte> head, uint64_t file_bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t needed, dump_data_head_bytes(first_of(head, 16), file_bytes));
  const auto whole = part_of(head, 0, needed);
  if (!whole) return bad_file("the beginning of the file is not all there");
  if (!has_header(head, file_bytes)) return read_whole_message(*whole);
  // What follows the message belongs to the tensors, whatever it looks like.
  const auto message = after(*whole, kLengthBytes);
  return is_dump_data_nano(message) ? parse_dump_data_nano(message, file_bytes) : read_with_header(message, file_bytes);
}

Result<TensorDesc> dump_data_desc(const DumpDataTensor& tensor) {
  const DumpDataType* type = find_dump_data_type(tensor.type);
  const auto flat = [&](DType dtype, uint64_t count) { return TensorDesc{dtype, Shape({static_cast<int64_t>(count)})}; };
  if (tensor.size > INT64_MAX) return bad_file("a tensor is larger than memory can be");
  if (type == nullptr) return flat(DType::kUInt8, tensor.size);
  if (type->form == DumpDataForm::kBytes) return flat(type->dtype, tensor.size);
  std::vector<int64_t> dims;
  bool possible = tensor.dims.size() <= kMaxRank;
  for (const uint64_t dim : tensor.dims) {
    possible = possible && dim <= INT64_MAX;
    dims.push_back(static_cast<int64_t>(dim));
  }
  if (type->form == DumpDataForm::kPairs) dims.push_back(2);
  possible = possible && dims.size() <= kMaxRank;
  const std::optional<uint64_t> numel = possible ? Shape(dims).numel() : std::nullopt;
  const uint32_t bits = dtype_info(type->dtype).bits;
  if (!possible) return flat(type->dtype, bits >= 8 ? tensor.size / (bits / 8) : tensor.size * (8 / bits));
  const std::optional<uint64_t> bytes = numel ? packed_bytes(type->dtype, *numel) : std::nullopt;
  if (!bytes || *bytes > tensor.size) {
    return bad_file(concat(type->name, " ", Shape(dims).to_text(), " takes ", bytes ? concat(*bytes) : "too many",
                           " bytes, the payload has ", tensor.size));
  }
  return TensorDesc{type->dtype, Shape(dims)};
}

}  // namespace tensortap
