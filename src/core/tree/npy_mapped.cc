#include "tree/npy_mapped.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/npy/npy_header.h"

namespace tensortap {
namespace {

constexpr size_t kPrefix = 12;
constexpr size_t kLongestHead = (size_t{1} << 20) + kPrefix;
constexpr std::string_view kRawBFloat16 = "<E2";

// Dimensions below zero, which NumPy's headers do not have: they are overwritten with zeros and kept beside.
struct UnknownDimensions {
  std::string head;
  std::vector<size_t> axes;
};

std::optional<UnknownDimensions> without_negatives(std::span<const std::byte> bytes) {
  UnknownDimensions result;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t key = text.find("'shape'");
  const size_t begin = key == std::string_view::npos ? key : text.find('(', key);
  const size_t end = begin == std::string_view::npos ? begin : text.find(')', begin);
  if (end == std::string_view::npos) return std::nullopt;
  result.head = text;
  size_t axis = 0;
  for (size_t at = begin; at < end; ++at) {
    if (text[at] == ',') ++axis;
    if (text[at] != '-') continue;
    result.axes.push_back(axis);
    for (result.head[at] = ' '; at + 1 < end && text[at + 1] >= '0' && text[at + 1] <= '9'; ++at) result.head[at + 1] = '0';
  }
  if (result.axes.empty()) return std::nullopt;
  return result;
}

struct Element {
  DType dtype = DType::kUndefined;
  bool swapped = false;
};

Element element_of(std::string_view descr) {
  if (descr == kRawBFloat16) return {DType::kBFloat16, false};
  Element element;
  element.swapped = descr.starts_with('>');
  std::string native(descr);
  if (!native.empty() && (native[0] == '>' || native[0] == '=')) native[0] = '<';
  if (const auto found = dtype_from_numpy(native)) {
    element.dtype = *found;
  } else if (!native.empty()) {
    native[0] = '|';
    element.dtype = dtype_from_numpy(native).value_or(DType::kUndefined);
  }
  return element;
}

// The dimension that the size of the data leaves open.
Status fill_in(std::vector<int64_t>& shape, std::span<const size_t> unknown, uint64_t elements) {
  if (unknown.size() > 1) return unsupported("npy: more than one dimension is unknown (negative), so the shape is not known");
  uint64_t others = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != unknown[0] && __builtin_mul_overflow(others, static_cast<uint64_t>(shape[axis]), &others))
      return corrupt("npy: the shape overflows");
  }
  if (others == 0 || elements % others != 0) {
    return corrupt(concat("npy: the unknown (negative) dimension does not follow from ", elements, " elements"));
  }
  shape[unknown[0]] = static_cast<int64_t>(elements / others);
  return {};
}

Status read_begin(int fd, std::span<std::byte> bytes, size_t& got) {
  for (got = 0; got < bytes.size();) {
    const ssize_t count = ::pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status("npy", errno);
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  return {};
}

Result<NpyHead> read_open_head(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno_status("npy", errno);
  if (!S_ISREG(info.st_mode)) return unsupported("not a regular file");
  if (info.st_size == 0) return corrupt("the file is empty: its tensor was never written");
  std::array<std::byte, 256> first{};
  size_t got = 0;
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  TENSORTAP_RETURN_IF_ERROR(read_begin(fd, first_of(std::span<std::byte>(first), file_bytes), got));
  const std::span<const std::byte> head(first.data(), got);
  const Result<uint64_t> needed = npy_header_bytes(head);
  const bool is_short = needed.ok() && *needed > head.size() && *needed <= std::min<uint64_t>(file_bytes, kLongestHead);
  if (!is_short) return parse_npy_head(head, file_bytes);
  std::vector<std::byte> whole(*needed);
  TENSORTAP_RETURN_IF_ERROR(read_begin(fd, whole, got));
  return parse_npy_head(std::span<const std::byte>(whole.data(), got), file_bytes);
}

}  // namespace

Result<NpyHead> parse_npy_head(std::span<const std::byte> bytes, uint64_t file_bytes) {
  Result<NpyHeader> header = parse_npy_header(bytes);
  std::optional<UnknownDimensions> unknown;
  if (!header.ok() && header.status().code() == StatusCode::kCorrupt) {
    unknown = without_negatives(first_of(bytes, kLongestHead));
    if (unknown) header = parse_npy_header(std::as_bytes(std::span(unknown->head)));
  }
  if (!header.ok()) return header.status();
  if (header->shape.size() > kMaxRank) {
    return unsupported(concat("npy: ", header->shape.size(), " dimensions; at most ", kMaxRank, " are read"));
  }
  const Element element = element_of(header->descr);
  if (element.dtype == DType::kUndefined) return unsupported(concat("npy: the dtype ", quote(header->descr), " is not read"));
  NpyHead head;
  head.file_bytes = file_bytes;
  head.data_begin = header->data_begin;
  if (head.data_begin > file_bytes) return corrupt("npy: the file ends within the header");
  const uint64_t there = file_bytes - head.data_begin;
  const uint64_t width = dtype_info(element.dtype).bits / 8;
  if (unknown) {
    if (there % width != 0) return corrupt(concat("npy: ", there, " bytes are no whole elements"));
    TENSORTAP_RETURN_IF_ERROR(fill_in(header->shape, unknown->axes, there / width));
  }
  head.desc = {element.dtype, Shape(header->shape)};
  const auto numel = head.desc.shape.numel();
  if (!numel || __builtin_mul_overflow(*numel, width, &head.data_bytes)) return corrupt("npy: the shape overflows");
  head.plain = !element.swapped && (!header->fortran_order || header->shape.size() < 2);
  head.short_of = head.data_bytes > there;
  head.left_over = head.data_bytes < there;
  return head;
}

Result<NpyHead> read_npy_head(int folder, const char* name) {
  // A pipe under a tensor's name must not make us wait for its other end.
  const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno_status("cannot be opened", errno);
  Result<NpyHead> head = read_open_head(fd);
  ::close(fd);
  return head;
}

bool may_be(DType stored, DType named) {
  const DTypeInfo& info = dtype_info(named);
  return stored == named || (info.is_raw_in_numpy && info.bits >= 8 && info.numpy_descr == dtype_info(stored).numpy_descr);
}

Result<RecordData> map_npy(const std::string& path, const TensorDesc& desc) {
  TENSORTAP_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  auto mapped = std::make_shared<const MappedFile>(std::move(file));
  const std::span<const std::byte> bytes = mapped->bytes();
  const Result<NpyHead> head = parse_npy_head(bytes, bytes.size());
  if (!head.ok()) return head.status().with_context(path);
  if (!may_be(head->desc.dtype, desc.dtype) || !(head->desc.shape == desc.shape))
    return corrupt(concat(path, ": changed since the dump was opened"));
  if (head->short_of) {
    return corrupt(
        concat(path, ": ", head->data_bytes, " bytes of elements by the header, ", bytes.size() - head->data_begin, " in the file"));
  }
  RecordData data;
  if (head->plain) {
    data.view = {desc, bytes.data() + head->data_begin, nullptr};
    data.owner = std::move(mapped);
    return data;
  }
  const auto decoded = decode_npy(first_of(bytes, head->data_begin + head->data_bytes));
  if (!decoded.ok()) return decoded.status().with_context(path);
  data.view = decoded->view;
  data.owner = decoded->owner;
  return data;
}

}  // namespace tensortap
