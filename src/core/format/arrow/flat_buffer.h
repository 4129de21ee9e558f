// A FlatBuffer, written from its root on: the encoding of the metadata of Arrow's files.

#ifndef TENSORTAP_FORMAT_ARROW_FLAT_BUFFER_H_
#define TENSORTAP_FORMAT_ARROW_FLAT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap {

// A table refers to what is written after it: it is made with empty offsets, which link() fills in. Thread-compatible.
class FlatBuffer {
 public:
  // One field of a table, in the order of the schema. A width of 0 leaves it out.
  struct Field {
    size_t width;
    uint64_t value;
  };
  static constexpr Field kNone = {0, 0};
  static constexpr Field kOffset = {4, 0};

  FlatBuffer() : bytes_(4, '\0') {}  // the offset of the root

  // The places of the fields of a new table; those of fields that were left out mean nothing. The first table is the root.
  std::vector<size_t> table(std::initializer_list<Field> fields, size_t link_from = 0);
  // Has the offset at `place` lead to a new text.
  void text(size_t place, std::string_view text);
  // Has the offset at `place` lead to a list of `count` empty offsets; gives their places.
  std::vector<size_t> offsets(size_t place, size_t count);
  // Has the offset at `place` lead to a list of structures, given as their 64-bit words.
  void structures(size_t place, size_t count, std::span<const uint64_t> words);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void align(size_t to, size_t behind = 0);  // aligns the place that lies `behind` bytes further on
  void put(uint64_t value, size_t width);
  void link(size_t place, size_t target);

  std::string bytes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ARROW_FLAT_BUFFER_H_
