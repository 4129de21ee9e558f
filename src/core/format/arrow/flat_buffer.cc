#include "format/arrow/flat_buffer.h"

#include <algorithm>

namespace tensortap {

void FlatBuffer::align(size_t to, size_t behind) {
  while ((bytes_.size() + behind) % to != 0) bytes_ += '\0';
}

void FlatBuffer::put(uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i));
}

void FlatBuffer::link(size_t place, size_t target) {
  const uint64_t distance = target - place;
  for (size_t i = 0; i < 4; ++i) bytes_[place + i] = static_cast<char>(distance >> (8 * i));
}

std::vector<size_t> FlatBuffer::table(std::initializer_list<Field> fields, size_t link_from) {
  const std::vector<Field> given(fields);
  // Behind the table's own offset, wide fields first, so that each is aligned.
  std::vector<size_t> within(given.size(), 0);
  size_t size = 4;
  for (const size_t width : {size_t{4}, size_t{8}, size_t{2}, size_t{1}}) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].width != width) continue;
      size = (size + width - 1) / width * width;
      within[i] = size;
      size += width;
    }
  }
  const size_t vtable_size = 4 + 2 * given.size();
  align(8, vtable_size);
  const size_t vtable = bytes_.size();
  put(vtable_size, 2);
  put(size, 2);
  for (const size_t place : within) put(place, 2);
  const size_t start = bytes_.size();
  put(start - vtable, 4);
  bytes_.resize(start + size, '\0');
  std::vector<size_t> places(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    places[i] = start + within[i];
    for (size_t at = 0; at < given[i].width; ++at) bytes_[places[i] + at] = static_cast<char>(given[i].value >> (8 * at));
  }
  link(link_from, start);
  return places;
}

void FlatBuffer::text(size_t place, std::string_view text) {
  align(4);
  link(place, bytes_.size());
  put(text.size(), 4);
  bytes_ += text;
  bytes_ += '\0';
}

std::vector<size_t> FlatBuffer::offsets(size_t place, size_t count) {
  align(4);
  link(place, bytes_.size());
  put(count, 4);
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i) {
    places.push_back(bytes_.size());
    put(0, 4);
  }
  return places;
}

void FlatBuffer::structures(size_t place, size_t count, std::span<const uint64_t> words) {
  align(8, 4);
  link(place, bytes_.size());
  put(count, 4);
  for (const uint64_t word : words) put(word, 8);
}

}  // namespace tensortap
