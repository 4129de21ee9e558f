#include "format/dump_data/dump_data_nano.h"

#include <cstring>

#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap {
namespace {

constexpr uint32_t kNanoMagic = 0x5A5A5A5A;
enum Part : uint32_t { kPartInputs = 4, kPartOutputs = 5 };
enum SubPart : uint32_t { kSubShape = 0, kSubOriginalShape = 1, kSubOriginalName = 2 };

Status bad_nano(std::string_view what) { return corrupt(concat("DumpData of a small device: ", what)); }

// Takes numbers and pieces from the front; once something was missing, everything is 0 and empty.
class NanoBytes {
 public:
  explicit NanoBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    const auto piece = take_bytes(sizeof(T));
    if (piece.size() == sizeof(T)) std::memcpy(&value, piece.data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> take_bytes(uint64_t count) {
    const auto piece = part_of(bytes_, 0, count);
    failed_ = failed_ || !piece;
    if (failed_) return {};
    bytes_ = after(bytes_, count);
    return *piece;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

bool take_dims(std::span<const std::byte> bytes, std::vector<uint64_t>& dims) {
  if (bytes.size() % sizeof(uint64_t) != 0) return false;
  dims.resize(bytes.size() / sizeof(uint64_t));
  if (!dims.empty()) std::memcpy(dims.data(), bytes.data(), bytes.size());
  return true;
}

bool take_sub_parts(std::span<const std::byte> bytes, DumpDataTensor& tensor) {
  NanoBytes rest(bytes);
  while (!rest.empty() && !rest.failed()) {
    const auto type = rest.take<uint32_t>();
    const auto value = rest.take_bytes(rest.take<uint32_t>());
    if (rest.failed()) return false;
    if (type == kSubShape && !take_dims(value, tensor.dims)) return false;
    if (type == kSubOriginalShape && !take_dims(value, tensor.original_dims)) return false;
    if (type == kSubOriginalName) tensor.origin.name.assign(reinterpret_cast<const char*>(value.data()), value.size());
  }
  return !rest.failed();
}

bool take_tensor(NanoBytes& bytes, bool is_output, DumpDataTensor& tensor) {
  tensor.type = dump_data_type_from_ge(bytes.take<int32_t>());
  tensor.format = bytes.take<int32_t>();
  (void)bytes.take<int32_t>();  // kind of the address
  if (is_output) {
    tensor.origin.output = static_cast<uint32_t>(bytes.take<int32_t>());
    tensor.origin.type = bytes.take<int32_t>();
    tensor.origin.format = bytes.take<int32_t>();
  }
  tensor.address = bytes.take<uint64_t>();
  tensor.offset = bytes.take<uint64_t>();
  tensor.size = bytes.take<uint64_t>();
  const auto sub_parts = bytes.take_bytes(bytes.take<uint32_t>());
  return !bytes.failed() && take_sub_parts(sub_parts, tensor);
}

bool take_tensors(std::span<const std::byte> value, bool is_output, std::vector<DumpDataTensor>& tensors) {
  NanoBytes bytes(value);
  const auto count = bytes.take<uint32_t>();
  for (uint32_t i = 0; i < count && !bytes.failed(); ++i) {
    DumpDataTensor tensor;
    if (!take_tensor(bytes, is_output, tensor)) return false;
    tensors.push_back(std::move(tensor));
  }
  return !bytes.failed();
}

}  // namespace

bool is_dump_data_nano(std::span<const std::byte> header) {
  uint32_t magic = 0;
  if (header.size() < 2 * sizeof(magic)) return false;
  std::memcpy(&magic, header.data(), sizeof(magic));
  return magic == kNanoMagic;
}

Result<DumpDataFile> parse_dump_data_nano(std::span<const std::byte> header, uint64_t file_bytes) {
  DumpDataFile file;
  file.framing = DumpDataFraming::kNano;
  NanoBytes bytes(after(header, sizeof(kNanoMagic)));
  file.version = concat("nano ", bytes.take<uint32_t>());
  while (!bytes.empty()) {
    const auto type = bytes.take<uint32_t>();
    const auto value = bytes.take_bytes(bytes.take<uint32_t>());
    const bool is_output = type == kPartOutputs;
    const bool is_tensors = is_output || type == kPartInputs;
    if (bytes.failed() || (is_tensors && !take_tensors(value, is_output, is_output ? file.outputs : file.inputs))) {
      return bad_nano("its header is damaged");
    }
  }
  uint64_t at = sizeof(uint64_t) + header.size();
  for (std::vector<DumpDataTensor>* part : {&file.inputs, &file.outputs}) {
    for (DumpDataTensor& tensor : *part) {
      tensor.payload_at = at;
      if (__builtin_add_overflow(at, tensor.size, &at)) return bad_nano("the sizes of the tensors are too large");
    }
  }
  if (at != file_bytes) return bad_nano(concat("its parts take ", at, " bytes, the file has ", file_bytes));
  return file;
}

}  // namespace tensortap
