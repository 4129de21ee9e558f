#include "convert/dump_data_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

#include "base/json.h"
#include "base/size_signal.h"
#include "base/spans.h"
#include "base/text.h"
#include "convert/npy_values.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"
#include "format/dump_data/overflow_block.h"
#include "format/npy/npy_header.h"

namespace tensortap {
namespace {

constexpr int32_t kHifloat8 = 33;
constexpr std::string_view kOverflowPrefix = "Opdebug.Node_OpDebug.";
constexpr uint64_t kWorthCopying = uint64_t{1} << 20;
constexpr int kJsonIndent = 4;

std::string joined(std::span<const int64_t> dims, std::string_view separator) {
  std::string text;
  for (const int64_t dim : dims) text += concat(text.empty() ? "" : separator, dim);
  return text;
}

std::optional<DataOrder> order_of(int32_t format) { return data_order_from_name(dump_data_format_name(format)); }

// One file while it is converted.
class DumpDataConversion {
 public:
  DumpDataConversion(const SourceFile& source, const ConvertRequest& request, TargetFolder& target)
      : source_(source), request_(request), target_(target) {}

  Status run() {
    TENSORTAP_RETURN_IF_ERROR(load());
    TENSORTAP_ASSIGN_OR_RETURN(file_, parse_dump_data(bytes_, bytes_.size()));
    base_ = request_.to == "msnpy" ? mindspore_name() : file_name(source_.path);
    TENSORTAP_RETURN_IF_ERROR(convert_tensors(file_.inputs, "input"));
    TENSORTAP_RETURN_IF_ERROR(convert_tensors(file_.outputs, "output"));
    TENSORTAP_RETURN_IF_ERROR(copy_spaces(file_.buffers, "l1buffer"));
    TENSORTAP_RETURN_IF_ERROR(copy_spaces(file_.workspaces, "space"));
    if (!request_.slot.empty() && !found_slot_) return invalid_argument(concat("it has no ", request_.slot));
    return {};
  }

 private:
  // A small file is read, which takes less than mapping it.
  Status load() {
    TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(source_.path, O_RDONLY));
    TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, file.size());
    if (size < kWorthCopying) {
      content_.resize(size);
      bytes_ = content_;
      return file.read_at(0, content_);
    }
    TENSORTAP_ASSIGN_OR_RETURN(map_, MappedFile::open(source_.path));
    bytes_ = map_.bytes();
    return {};
  }

  // The op's name without the folders before it, where the file's name has its five parts.
  std::string mindspore_name() const {
    std::vector<std::string_view> parts = split(source_.name, '.');
    if (parts.size() != 5 || file_.op_name.empty()) return source_.name;
    const std::string last = file_.op_name.substr(file_.op_name.rfind('/') + 1);
    return concat(parts[0], ".", last, ".", parts[2], ".", parts[3], ".", parts[4]);
  }

  // The bytes of a tensor that is not absent; the parser has checked that they lie in the file.
  std::span<const std::byte> payload_of(const DumpDataTensor& tensor) const {
    return part_of(bytes_, tensor.payload_at, tensor.size).value_or(std::span<const std::byte>());
  }

  Status convert_tensors(const std::vector<DumpDataTensor>& tensors, std::string_view word) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string slot = concat(word, ".", i);
      if (!request_.slot.empty() && request_.slot != slot) continue;
      found_slot_ = true;
      // The placeholder of a slot that was not kept has nothing to write.
      if (tensors[i].absent || (tensors[i].type == 0 && tensors[i].size == 0)) continue;
      TENSORTAP_RETURN_IF_ERROR(convert_tensor(tensors[i], slot).with_context(slot));
    }
    return {};
  }

  Status convert_tensor(const DumpDataTensor& tensor, const std::string& slot) {
    if (source_.name.starts_with(kOverflowPrefix) && slot.starts_with("output.")) return convert_overflow(tensor, slot);
    const DumpDataType* type = find_dump_data_type(tensor.type);
    if (type == nullptr || (type->form == DumpDataForm::kBytes && tensor.type != 0)) {
      return unsupported(concat("elements of the type ", type == nullptr ? concat(tensor.type) : std::string(type->name),
                                " have no values that NumPy could hold"));
    }
    TENSORTAP_ASSIGN_OR_RETURN(NamedTensor loaded, load_dump_data(tensor, payload_of(tensor), slot));
    bool ordered = false;
    if (request_.order) {
      const std::optional<DataOrder> now = order_of(tensor.format);
      if (now && *now != *request_.order && type->form == DumpDataForm::kSame) {
        TENSORTAP_RETURN_IF_ERROR(put_in_order(tensor, *now, loaded));
      } else if (!now) {
        return unsupported(concat("there is no way from the order ", dump_data_format_name(tensor.format), " (", tensor.format, ")"));
      }
      ordered = true;
    }
    if (tensor.type == kHifloat8) return write_hifloat8(loaded.view, tensor, slot, ordered);
    return write_tensor(loaded.view, loaded.owner == nullptr ? &tensor : nullptr, tensor.format, slot, ordered);
  }

  Status put_in_order(const DumpDataTensor& tensor, DataOrder now, NamedTensor& loaded) {
    OrderChange change{now, *request_.order, Shape(), static_cast<uint32_t>(std::max(tensor.sub_format, 1))};
    const bool flat = loaded.view.desc.shape.rank() != 4 && !is_blocked(now) && !is_blocked(change.to);
    // Orders of four axes mean nothing to a tensor that has others.
    if (flat && loaded.view.desc.shape.rank() != 5) return {};
    std::vector<int64_t> whole = request_.shape;
    if (whole.empty() && tensor.original_dims.size() <= kMaxRank) {
      for (const uint64_t dim : tensor.original_dims) whole.push_back(dim > INT64_MAX ? -1 : static_cast<int64_t>(dim));
    }
    change.whole = Shape(whole);
    TENSORTAP_ASSIGN_OR_RETURN(OwnedTensor changed, change_order(loaded.view, change));
    loaded.view = {changed.desc, changed.data.get(), nullptr};
    loaded.owner = changed.data;
    return {};
  }

  Status write_hifloat8(const TensorView& view, const DumpDataTensor& tensor, const std::string& slot, bool ordered) {
    const uint64_t numel = view.desc.shape.numel().value_or(0);
    std::vector<float> values(numel);
    const auto* bits = static_cast<const uint8_t*>(view.data);
    for (uint64_t i = 0; i < numel; ++i) values[i] = hifloat8_to_float(bits[i]);
    return write_tensor({{DType::kFloat32, view.desc.shape}, values.data(), nullptr}, nullptr, tensor.format, slot, ordered);
  }

  // `at`: where the same bytes are in the source, null when they are not.
  Status write_tensor(const TensorView& view, const DumpDataTensor* at, int32_t format, const std::string& slot, bool ordered) {
    const TensorDesc stored{numpy_dtype_for(view.desc.dtype), view.desc.shape};
    if (request_.order) format = dump_data_format_number(data_order_name(*request_.order)).value_or(format);
    std::string name = concat(base_, ".", slot);
    std::string header;
    if (request_.to == "bin") {
      const std::string dims = ordered ? joined(stored.shape.dims(), "_") : to_text(stored.shape.numel().value_or(0));
      name += concat(".", dims, ".", dtype_name(stored.dtype), ".", dump_data_format_name(format), ".bin");
    } else {
      if (ordered && request_.to == "npy") name += concat(".", joined(stored.shape.dims(), "x"));
      if (request_.to == "msnpy") name += concat(".", dump_data_format_name(format));
      name += ".npy";
      header = make_tensor_npy_header(stored, value_bytes(view.desc));
    }
    const uint64_t bytes = value_bytes(view.desc);
    return target_.write(source_.below, name, header.size() + bytes, [&](File& file) {
      const bool same = at != nullptr && stored.dtype == view.desc.dtype && view.data == payload_of(*at).data();
      return same && bytes >= kWorthCopying ? copy_payload(file, header, *at, bytes) : write_values(file, header, view);
    });
  }

  // Within the kernel where it can; the bytes are the same either way.
  Status copy_payload(File& file, const std::string& header, const DumpDataTensor& tensor, uint64_t bytes) const {
    TENSORTAP_RETURN_IF_ERROR(file.write(header));
    const Result<File> from = File::open(source_.path, 0);
    auto at = static_cast<off64_t>(tensor.payload_at);
    uint64_t done = 0;
    while (from.ok() && done < bytes) {
      const auto most = static_cast<size_t>(std::min<uint64_t>(bytes - done, SSIZE_MAX));
      const ssize_t copied = without_size_signal([&] { return ::copy_file_range(from->fd(), &at, file.fd(), nullptr, most, 0); });
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) break;
      done += static_cast<uint64_t>(copied);
    }
    return file.write(after(first_of(payload_of(tensor), bytes), done));
  }

  Status convert_overflow(const DumpDataTensor& tensor, const std::string& slot) {
    TENSORTAP_ASSIGN_OR_RETURN(const Json block, overflow_block_json(payload_of(tensor)));
    const std::string text = to_json_text(block, kJsonIndent);
    return target_.write(source_.below, concat(base_, ".", slot, ".json"), text.size(), [&](File& file) { return file.write(text); });
  }

  Status copy_spaces(const std::vector<DumpDataTensor>& spaces, std::string_view word) {
    if (!request_.slot.empty()) return {};
    for (size_t i = 0; i < spaces.size(); ++i) {
      if (spaces[i].absent) continue;
      const auto fill = [&](File& file) { return file.write(payload_of(spaces[i])); };
      TENSORTAP_RETURN_IF_ERROR(target_.write(source_.below, concat(base_, ".", word, ".", i, ".bin"), spaces[i].size, fill));
    }
    return {};
  }

  const SourceFile& source_;
  const ConvertRequest& request_;
  TargetFolder& target_;
  MappedFile map_;
  std::vector<std::byte> content_;
  std::span<const std::byte> bytes_;  // of one of them
  DumpDataFile file_;
  std::string base_;
  bool found_slot_ = false;
};

}  // namespace

Status convert_dump_data_file(const SourceFile& source, const ConvertRequest& request, TargetFolder& target) {
  return DumpDataConversion(source, request, target).run();
}

}  // namespace tensortap
