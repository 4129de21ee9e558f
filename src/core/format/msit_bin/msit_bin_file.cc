#include "format/msit_bin/msit_bin_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_numbers.h"
#include "format/msit_bin/number_texts.h"

namespace tensortap {
namespace {

constexpr size_t kMostLines = 8000;
constexpr size_t kLongestHeader = size_t{1} << 20;
constexpr std::string_view kVersionLine = "$Version=";
constexpr std::string_view kObject = "$Object.";
constexpr std::string_view kData = "data";
// The interface of AscendCL has these two types, and the runtime whose files these are does not.
constexpr std::array<DType, 2> kWithoutNumber = {DType::kInt2, DType::kUInt2};

Status bad_header(std::string_view what) { return corrupt(concat("msit .bin header: ", what)); }

// The files have the numbers of AscendCL's interface.
const DumpDataType* type_of_number(int64_t number) {
  if (number < 0) return nullptr;
  const int32_t in_files = dump_data_type_from_ge(number);
  return in_files == 0 ? nullptr : find_dump_data_type(in_files);
}

// The place of an object, relative to the end of the header.
struct Object {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// The lines of a header, as far as they matter.
struct Lines {
  std::optional<int64_t> dtype;
  std::optional<std::string_view> dims;
  int64_t format = kMsitFormatNd;
  std::optional<uint64_t> count;
  std::optional<Object> object;
  bool object_is_data = false;
  std::array<std::string_view, kMsitStatistics.size()> statistics;
  uint64_t end = 0;  // of the header
};

bool read_object(std::string_view name, std::string_view value, Lines& lines) {
  if (name == "Count") {
    uint64_t count = 0;
    if (!parse_unsigned(value, count)) return false;
    lines.count = count;
    return true;
  }
  if (name == "Length") return true;
  const auto parts = split(value, ',');
  Object object;
  if (parts.size() != 2 || !parse_unsigned(parts[0], object.offset) || !parse_unsigned(parts[1], object.length)) return false;
  // Dumps have the object "data" alone; of a file with others the first one counts.
  if (lines.object_is_data || (lines.object && name != kData)) return true;
  lines.object = object;
  lines.object_is_data = name == kData;
  return true;
}

bool read_line(std::string_view name, std::string_view value, Lines& lines) {
  int64_t number = 0;
  if (name.starts_with(kObject)) return read_object(name.substr(kObject.size()), value, lines);
  if (name == "dims") {
    lines.dims = value;
  } else if (name == "dtype" || name == "format") {
    if (!parse_integer(value, number)) return false;
    if (name == "dtype") {
      lines.dtype = number;
    } else {
      lines.format = number;
    }
  } else if (const auto known = std::ranges::find(kMsitStatistics, name); known != kMsitStatistics.end()) {
    lines.statistics[static_cast<size_t>(known - kMsitStatistics.begin())] = value;
  }
  return true;
}

Result<Lines> read_lines(std::string_view text) {
  Lines lines;
  size_t at = 0;
  for (size_t number = 1; number <= kMostLines && at < std::min(text.size(), kLongestHeader); ++number) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos || line.find('=', equals + 1) != std::string_view::npos) {
      return bad_header(concat("line ", number, " is not NAME=VALUE: ", quote(line.substr(0, 60))));
    }
    const std::string_view name = line.substr(0, equals);
    if (name == "$End") {
      lines.end = at;
      return lines;
    }
    if (!read_line(name, line.substr(equals + 1), lines))
      return bad_header(concat("line ", number, ": ", quote(line.substr(0, 60)), " is not understood"));
  }
  return bad_header(concat("no line $End= in the first ", text.size(), " bytes"));
}

Result<Shape> read_dims(std::string_view text) {
  std::vector<int64_t> dims;
  if (text.empty()) return Shape();
  for (const std::string_view part : split(text, ',')) {
    int64_t dim = 0;
    if (!parse_integer(part, dim) || dim < 0) return bad_header(concat("dims: ", quote(text.substr(0, 60)), " is no shape"));
    if (dims.size() == kMaxRank) return unsupported(concat("msit .bin: more than ", kMaxRank, " dimensions"));
    dims.push_back(dim);
  }
  return Shape(dims);
}

// The tensor that `bytes` bytes of elements are. Of types that are not ours the bytes alone.
Result<TensorDesc> described(const Lines& lines, const Shape& shape, uint64_t bytes, bool has_data) {
  const DumpDataType* type = type_of_number(*lines.dtype);
  if (type == nullptr || type->form == DumpDataForm::kBytes) {
    if (bytes > INT64_MAX) return bad_header("the elements are larger than memory can be");
    return has_data ? TensorDesc{DType::kUInt8, {static_cast<int64_t>(bytes)}} : TensorDesc{DType::kUndefined, shape};
  }
  TensorDesc desc{type->dtype, shape};
  if (type->form == DumpDataForm::kPairs) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.push_back(2);
    if (dims.size() > kMaxRank) return unsupported(concat("msit .bin: more than ", kMaxRank, " dimensions"));
    desc.shape = Shape(dims);
  }
  const std::optional<uint64_t> numel = desc.shape.numel();
  if (!numel || !packed_bytes(desc.dtype, *numel)) return bad_header("dims: the shape overflows");
  return desc;
}

TensorStats statistics_of(const Lines& lines, DType dtype) {
  TensorStats stats;
  for (size_t number = 0; number < lines.statistics.size(); ++number) read_msit_statistic(number, lines.statistics[number], dtype, stats);
  finish_msit_statistics(dtype, stats);
  return stats;
}

}  // namespace

Result<MsitBinFile> parse_msit_bin(std::span<const std::byte> head, uint64_t file_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  TENSORTAP_ASSIGN_OR_RETURN(const Lines lines, read_lines(text));
  if (!lines.dtype) return bad_header("no line dtype=");
  if (!lines.dims) return bad_header("no line dims=");
  TENSORTAP_ASSIGN_OR_RETURN(const Shape shape, read_dims(*lines.dims));
  MsitBinFile file;
  file.format = lines.format < INT32_MIN || lines.format > INT32_MAX ? -1 : static_cast<int32_t>(lines.format);
  const uint64_t rest = file_bytes - std::min(file_bytes, lines.end);
  // A file without lines about its objects is a header and the elements behind it.
  const Object object = lines.object.value_or(Object{0, lines.count ? 0 : rest});
  file.has_data = lines.object ? lines.count.value_or(1) > 0 : !lines.count;
  TENSORTAP_ASSIGN_OR_RETURN(file.desc, described(lines, shape, object.length, file.has_data));
  file.stats = statistics_of(lines, file.desc.dtype);
  if (object.offset <= rest && object.length <= rest - object.offset) {
    file.object_end = lines.end + object.offset + object.length;
    file.left_over = file_bytes - file.object_end;
  }
  if (!file.has_data) return file;
  file.data_bytes = packed_bytes(file.desc.dtype, file.desc.shape.numel().value_or(0)).value_or(0);
  file.data_begin = lines.end + std::min(object.offset, rest);
  file.bytes_there = std::min({file.data_bytes, object.length, rest - std::min(object.offset, rest)});
  return file;
}

bool begins_msit_bin(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with(kVersionLine);
}

bool msit_bin_holds(DType dtype) {
  return dump_data_type_of(dtype) != nullptr && std::ranges::find(kWithoutNumber, dtype) == kWithoutNumber.end();
}

Result<std::string> make_msit_bin_header(const MsitBinHeader& header) {
  const TensorDesc& desc = header.desc;
  if (!msit_bin_holds(desc.dtype)) return unsupported(concat("msit's files have no element type ", dtype_name(desc.dtype)));
  const std::optional<uint64_t> numel = desc.shape.numel();
  const std::optional<uint64_t> bytes = numel ? packed_bytes(desc.dtype, *numel) : std::nullopt;
  if (!bytes) return invalid_argument("msit .bin: the tensor is too large");
  const uint64_t length = header.has_data ? *bytes : 0;
  std::string text = concat(kVersionLine, "1.0\n", kObject, "Count=", header.has_data ? 1 : 0, "\n", kObject, "Length=", length, "\n");
  text += concat("format=", header.format, "\ndtype=", dump_data_type_of(desc.dtype)->ge, "\ndims=");
  for (int i = 0; i < desc.shape.rank(); ++i) text += concat(i > 0 ? "," : "", desc.shape[i]);
  text += desc.shape.rank() == 0 ? "1\n" : "\n";
  if (header.stats != nullptr) {
    const auto texts = msit_statistic_texts(*header.stats, desc.dtype);
    for (size_t i = 0; i < texts.size(); ++i) text += concat(kMsitStatistics[i], "=", texts[i], "\n");
  }
  if (header.has_data) text += concat(kObject, kData, "=0,", length, "\n");
  return text + "$End=1\n";
}

}  // namespace tensortap
