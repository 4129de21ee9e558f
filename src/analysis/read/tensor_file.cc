#include "read/tensor_file.h"

#include <algorithm>
#include <cstring>

#include "base/spans.h"
#include "base/text.h"
#include "base/utf8.h"
#include "format/npy/npy_header.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr size_t kHead = 64;

const Format* recognise(const std::string& path, std::span<const std::byte> bytes) {
  const std::span<const std::byte> head = first_of(bytes, kHead);
  for (const Format& format : formats()) {
    if (format.recognise(head)) return &format;
  }
  const auto by_name = std::ranges::find_if(formats(), [&path](const Format& format) { return path.ends_with(format.extension); });
  return by_name == formats().end() ? nullptr : &*by_name;
}

std::string format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return join(names, ", ");
}

// The code points of a UTF-8 text. False when it is not UTF-8.
bool decode_utf8(std::string_view text, std::vector<uint32_t>& codes) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    codes.push_back(utf8_code(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return true;
}

Result<std::string> strings_to_npy(const TensorView& view, uint64_t numel) {
  const auto* elements = static_cast<const StringElement*>(view.data);
  std::vector<std::vector<uint32_t>> texts(numel);
  size_t longest = 1;
  for (uint64_t i = 0; i < numel; ++i) {
    const std::string_view text(elements[i].data, elements[i].size);
    if (!decode_utf8(text, texts[i]) || text.ends_with('\0')) {
      return unsupported(concat("NumPy's fixed-width texts cannot hold element ", i, " (", quote(text), ") as it is"));
    }
    longest = std::max(longest, texts[i].size());
  }
  std::string file = make_npy_header(concat("'<U", longest, "'"), view.desc.shape.dims());
  const size_t begin = file.size();
  file.resize(begin + numel * longest * 4);
  for (uint64_t i = 0; i < numel; ++i) {
    if (!texts[i].empty()) std::memcpy(file.data() + begin + i * longest * 4, texts[i].data(), texts[i].size() * 4);
  }
  return file;
}

Result<std::string> to_npy(const TensorView& view) {
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (view.data == nullptr && numel > 0) return invalid_argument("a tensor without values cannot be saved");
  if (view.desc.dtype == DType::kString) return strings_to_npy(view, numel);
  const std::optional<uint64_t> bytes = packed_bytes(view.desc.dtype, numel);
  if (!bytes) return invalid_argument("a tensor without a dtype cannot be saved");
  std::string file = make_tensor_npy_header(view.desc, *bytes);
  if (*bytes > 0) file.append(static_cast<const char*>(view.data), *bytes);
  return file;
}

Status open_file(const std::string& path, bool with_groups, TensorFile& file) {
  TENSORTAP_ASSIGN_OR_RETURN(file.map, MappedFile::open(path));
  const Format* format = recognise(path, file.map.bytes());
  if (format == nullptr) return unsupported(concat(path, ": not a tensor file that is known (", format_names(), ")"));
  file.format = format->name;
  Result<std::vector<NamedTensor>> tensors = format->decode(file.map.bytes());
  if (tensors.ok()) {
    file.tensors = *std::move(tensors);
    return {};
  }
  if (with_groups && format->decode_group != nullptr) {
    // A file that is neither is reported as the tensor that it most likely should be.
    Result<GroupedTensors> group = format->decode_group(file.map.bytes());
    if (!group.ok() && group.status().code() == StatusCode::kUnsupported) return group.status().with_context(path);
    if (group.ok()) {
      file.group = group->group;
      file.tensors = std::move(group->tensors);
      return {};
    }
  }
  return tensors.status().with_context(path);
}

}  // namespace

const Format* format_of_file(const std::string& path) {
  const Result<MappedFile> map = is_directory(path) ? Result<MappedFile>(not_found(path)) : MappedFile::open(path);
  return map.ok() ? recognise(path, map->bytes()) : nullptr;
}

Result<DescribedFile> describe_tensor_file(const std::string& path) {
  DescribedFile described;
  const Format* format = format_of_file(path);
  if (format == nullptr || format->describe == nullptr) {
    TENSORTAP_ASSIGN_OR_RETURN(TensorFile file, read_tensor_file(path));
    described.map = std::move(file.map);
    described.format = file.format;
    for (NamedTensor& tensor : file.tensors) described.tensors.push_back({std::move(tensor), {}});
    return described;
  }
  TENSORTAP_ASSIGN_OR_RETURN(described.map, MappedFile::open(path));
  described.format = format->name;
  Result<std::vector<DescribedTensor>> tensors = format->describe(described.map.bytes());
  if (!tensors.ok()) return tensors.status().with_context(path);
  described.tensors = *std::move(tensors);
  return described;
}

Result<TensorFile> read_tensor_file(const std::string& path) {
  TensorFile file;
  TENSORTAP_RETURN_IF_ERROR(open_file(path, false, file));
  return file;
}

Result<TensorFile> read_value_file(const std::string& path) {
  TensorFile file;
  TENSORTAP_RETURN_IF_ERROR(open_file(path, true, file));
  return file;
}

Status save_npy(const std::string& path, const TensorView& view) {
  const Result<std::string> file = to_npy(view);
  if (!file.ok()) return file.status().with_context(path);
  return write_file_atomically(path, *file);
}

}  // namespace tensortap
