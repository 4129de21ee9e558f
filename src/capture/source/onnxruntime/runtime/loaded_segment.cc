#include "source/onnxruntime/runtime/loaded_segment.h"

#include <link.h>

#include <cstdint>

namespace tensortap::onnxruntime {

size_t bytes_behind(const void* address) {
  struct Place {
    uintptr_t address;
    size_t bytes = 0;
  } place{reinterpret_cast<uintptr_t>(address)};
  const auto look = [](dl_phdr_info* object, size_t, void* context) {
    auto& wanted = *static_cast<Place*>(context);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& segment = object->dlpi_phdr[i];
      const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || wanted.address < begin || wanted.address >= begin + segment.p_memsz) continue;
      wanted.bytes = begin + segment.p_memsz - wanted.address;
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &place);
  return place.bytes;
}

}  // namespace tensortap::onnxruntime
