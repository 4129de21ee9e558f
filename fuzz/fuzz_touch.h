// Reads every byte that a decoder promises, so that the sanitizers see a promise that is not kept.

#ifndef TENSORTAP_FUZZ_FUZZ_TOUCH_H_
#define TENSORTAP_FUZZ_FUZZ_TOUCH_H_

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "format/format.h"

namespace tensortap {

inline void fuzz_touch(const TensorView& view) {
  static volatile uint8_t sink = 0;
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  const auto* bytes = static_cast<const uint8_t*>(view.data);
  for (uint64_t i = 0; i < packed_bytes(view.desc.dtype, numel).value_or(0); ++i) sink = sink ^ bytes[i];
  if (view.desc.dtype != DType::kString) return;
  const auto* strings = static_cast<const StringElement*>(view.data);
  for (uint64_t i = 0; i < numel; ++i) {
    for (uint64_t j = 0; j < strings[i].size; ++j) sink = sink ^ static_cast<uint8_t>(strings[i].data[j]);
  }
}

inline void fuzz_decode(const Format& format, const uint8_t* data, size_t size) {
  // A copy of exactly this size: reads beyond it are seen.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data), reinterpret_cast<const std::byte*>(data) + size);
  (void)format.recognise(std::span(bytes).first(size < 64 ? size : 64));
  if (format.decode_group != nullptr) {
    const auto group = format.decode_group(bytes);
    for (const NamedTensor& tensor : group.ok() ? group->tensors : std::vector<NamedTensor>()) fuzz_touch(tensor.view);
  }
  const auto tensors = format.decode(bytes);
  if (!tensors.ok()) return;
  for (const NamedTensor& tensor : *tensors) {
    fuzz_touch(tensor.view);
    // What was read can be written and read again, where the format holds it.
    if (format.encode != nullptr && format.holds(tensor.view.desc.dtype) && !format.encode(std::span(&tensor, 1)).ok()) abort();
  }
}

}  // namespace tensortap

#endif  // TENSORTAP_FUZZ_FUZZ_TOUCH_H_
