#include "source/ggml/gguf_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kMostTensors = uint64_t{1} << 20;
constexpr uint64_t kMostMembers = uint64_t{1} << 20;
constexpr uint64_t kLongestName = 1 << 16;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMostAlignment = uint64_t{1} << 30;
constexpr int kMostNested = 4;  // arrays in arrays
constexpr size_t kPiece = size_t{1} << 16;

enum MemberType : uint32_t { kUint32 = 4, kString = 8, kArray = 9 };
// By the number of the type; 0 = it has no fixed size.
constexpr std::array<uint64_t, 13> kTypeBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

}  // namespace

// Reads the beginning of a file, in order. After the first failure everything is 0.
class GgufFile::Header {
 public:
  Header(const File& file, uint64_t size) : file_(file), size_(size) {}

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] uint64_t place() const { return place_; }
  [[nodiscard]] uint64_t left() const { return size_ - place_; }

  template <class T>
  T number() {
    T value{};
    take(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::string text() {
    const auto length = number<uint64_t>();
    if (length > kLongestName) fail("a name that is too long");
    if (!status_.ok()) return {};
    std::string text(length, '\0');
    take(std::as_writable_bytes(std::span(text)));
    return text;
  }
  void skip(uint64_t bytes) {
    if (bytes > left()) return fail("it ends too early");
    place_ += bytes;
  }
  void skip_member(uint32_t type, int depth = 0) {
    if (type == kString) return skip(number<uint64_t>());
    if (type != kArray) return skip_numbers(type, 1);
    const auto of = number<uint32_t>();
    const auto count = number<uint64_t>();
    if (of != kString && of != kArray) return skip_numbers(of, count);
    // Each has a length at least.
    if (count > left() / sizeof(uint64_t) || depth == kMostNested) return fail("an array that is too large");
    for (uint64_t i = 0; i < count && status_.ok(); ++i) skip_member(of, depth + 1);
  }
  void fail(std::string_view what) {
    if (status_.ok()) status_ = corrupt(concat("no sound GGUF file: ", what));
    place_ = size_;
  }

 private:
  void skip_numbers(uint32_t type, uint64_t count) {
    const uint64_t bytes = type < kTypeBytes.size() ? kTypeBytes[type] : 0;
    if (bytes == 0 || count > left() / bytes) return fail("a value that is no number");
    skip(bytes * count);
  }
  void take(std::span<std::byte> to) {
    if (to.size() > left()) fail("it ends too early");
    if (!status_.ok() || to.empty()) return;
    if (place_ < begin_ || place_ + to.size() > begin_ + piece_.size()) {
      begin_ = place_;
      piece_.resize(std::min<uint64_t>(std::max(kPiece, to.size()), left()));
      if (Status read = file_.read_at(begin_, piece_); !read.ok()) {
        status_ = std::move(read);
        place_ = size_;
        return;
      }
    }
    std::memcpy(to.data(), piece_.data() + (place_ - begin_), to.size());
    place_ += to.size();
  }

  const File& file_;
  const uint64_t size_;
  uint64_t place_ = 0;
  std::vector<std::byte> piece_;
  uint64_t begin_ = 0;  // of the piece
  Status status_;
};

Result<GgufFile::Identity> GgufFile::identity_of(const File& file) {
  struct stat facts {};
  if (fstat(file.fd(), &facts) != 0) return io_error(concat(file.path(), ": it cannot be examined"));
  if (!S_ISREG(facts.st_mode)) return not_found(concat(file.path(), ": it is no file"));
  return Identity{file.path(),          facts.st_dev,         facts.st_ino, static_cast<uint64_t>(facts.st_size),
                  facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

Result<GgufFile> GgufFile::open(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  GgufFile opened;
  TENSORTAP_ASSIGN_OR_RETURN(opened.identity_, identity_of(file));
  const uint64_t size = opened.identity_.size;
  Header header(file, size);
  if (header.number<uint32_t>() != kMagic) header.fail("it begins with something else");
  const auto version = header.number<uint32_t>();
  if (header.status().ok() && version != 2 && version != 3) return unsupported(concat("GGUF of version ", version));
  const auto tensor_count = header.number<uint64_t>();
  const auto member_count = header.number<uint64_t>();
  if (tensor_count > kMostTensors || member_count > kMostMembers) header.fail("too many tensors or members");
  uint64_t alignment = kDefaultAlignment;
  for (uint64_t i = 0; i < member_count && header.status().ok(); ++i) {
    const std::string name = header.text();
    const auto type = header.number<uint32_t>();
    if (name == "general.architecture" && type == kString) {
      opened.architecture_ = header.text();
    } else if (name == "general.alignment" && type == kUint32) {
      alignment = header.number<uint32_t>();
    } else {
      header.skip_member(type);
    }
  }
  if (alignment == 0 || alignment > kMostAlignment) header.fail("an alignment that is none");
  for (uint64_t i = 0; i < tensor_count && header.status().ok(); ++i) {
    const std::string name = header.text();
    StoredTensor& tensor = opened.tensors_[name];
    const auto dimensions = header.number<uint32_t>();
    if (dimensions > kMostDimensions) header.fail("a tensor of too many dimensions");
    for (uint32_t d = 0; d < std::min<uint32_t>(dimensions, kMostDimensions); ++d) tensor.ne[d] = header.number<int64_t>();
    if (std::ranges::any_of(tensor.ne, [](int64_t elements) { return elements < 0; })) header.fail("a tensor of a negative size");
    tensor.type = header.number<int32_t>();
    tensor.begin = header.number<uint64_t>();  // behind the header, until its end is known
  }
  TENSORTAP_RETURN_IF_ERROR(header.status());
  const uint64_t data = (header.place() + alignment - 1) / alignment * alignment;
  for (auto& [name, tensor] : opened.tensors_) {
    const bool inside = data <= size && tensor.begin <= size - data;
    tensor.begin = inside ? data + tensor.begin : size;
    tensor.room = size - tensor.begin;
  }
  return opened;
}

const StoredTensor* GgufFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Status GgufFile::read(const StoredTensor& tensor, std::span<std::byte> bytes) const {
  if (bytes.size() > tensor.room) return corrupt(concat(path(), ": a tensor goes beyond the end of the file"));
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path(), O_RDONLY));
  TENSORTAP_ASSIGN_OR_RETURN(const Identity found, identity_of(file));
  if (!(found == identity_)) return not_found(concat(path(), ": the file was replaced or changed"));
  return file.read_at(tensor.begin, bytes);
}

}  // namespace tensortap::ggml
