// A tensor of ggml (struct ggml_tensor), read by the places of its fields: no header of ggml is needed, and copies of it that store tensors
// otherwise than others are served as well.

#ifndef TENSORTAP_SOURCE_GGML_TENSOR_FIELDS_H_
#define TENSORTAP_SOURCE_GGML_TENSOR_FIELDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensortap::ggml {

inline constexpr size_t kMostDimensions = 4;
inline constexpr size_t kMostSources = 16;

// Offsets from the beginning of the structure; -1 = not known.
struct TensorLayout {
  int type = -1;        // int32
  int op = -1;          // int32
  int ne = -1;          // int64[4], elements; the first dimension is the fastest
  int nb = -1;          // size_t[4], bytes between elements
  int sources = -1;     // pointers to the tensors that the op reads
  int view_of = -1;     // pointer to the tensor whose memory this one is a part of
  int view_place = -1;  // size_t, the first byte in it
  int data = -1;
  int name = -1;  // char[64]
  int buffer = -1;
  size_t source_count = 0;
  int flags = -1;        // int32
  int32_t computed = 0;  // the bit of the flags without which a node of a graph is left out; 0 = every node is computed
};

// Reads memory of the runtime; the pointer must be one of its tensors, or null.
class GgmlTensor {
 public:
  GgmlTensor() = default;
  GgmlTensor(const TensorLayout& layout, const void* at) : layout_(&layout), at_(static_cast<const char*>(at)) {}

  explicit operator bool() const { return at_ != nullptr; }
  bool operator==(const GgmlTensor& other) const { return at_ == other.at_; }
  [[nodiscard]] const void* address() const { return at_; }

  [[nodiscard]] int32_t type() const { return read<int32_t>(layout_->type); }
  [[nodiscard]] int32_t op() const { return read<int32_t>(layout_->op); }
  [[nodiscard]] std::array<int64_t, kMostDimensions> ne() const { return read<std::array<int64_t, kMostDimensions>>(layout_->ne); }
  [[nodiscard]] std::array<int64_t, kMostDimensions> nb() const { return read<std::array<int64_t, kMostDimensions>>(layout_->nb); }
  [[nodiscard]] const void* data() const { return read<const void*>(layout_->data); }
  [[nodiscard]] void* buffer() const { return read<void*>(layout_->buffer); }
  [[nodiscard]] const char* name() const { return at_ + layout_->name; }  // ends with NUL
  [[nodiscard]] GgmlTensor view_of() const { return {*layout_, read<const void*>(layout_->view_of)}; }
  // Whether the backends compute it as a node of its graph: a program may have chosen another branch.
  [[nodiscard]] bool is_computed() const { return layout_->computed == 0 || (read<int32_t>(layout_->flags) & layout_->computed) != 0; }
  [[nodiscard]] size_t source_count() const { return layout_->source_count; }
  [[nodiscard]] GgmlTensor source(size_t index) const {
    return {*layout_, read<const void*>(layout_->sources + static_cast<int>(index * sizeof(void*)))};
  }
  // The tensor whose memory this one lies in: itself when it is no view.
  [[nodiscard]] GgmlTensor base() const {
    GgmlTensor found = *this;
    while (const GgmlTensor below = found.view_of()) found = below;
    return found;
  }

 private:
  template <class T>
  [[nodiscard]] T read(int offset) const {
    T value;
    std::memcpy(&value, at_ + offset, sizeof(T));
    return value;
  }

  const TensorLayout* layout_ = nullptr;
  const char* at_ = nullptr;
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_TENSOR_FIELDS_H_
