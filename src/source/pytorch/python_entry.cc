// The C functions of the bridge to Python.

#include <tensortap/pytorch.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "source/pytorch/python_bridge.h"
#include "source/pytorch/python_functions.h"

void* tensortap_pytorch_python_functions(void) noexcept { return tensortap::python_is_there() ? tensortap::python_functions() : nullptr; }

size_t tensortap_pytorch_where(char* text, size_t capacity) noexcept {
  try {
    const std::string place = tensortap::source_text(tensortap::source_position(true));
    if (capacity > 0) {
      const size_t copied = std::min(place.size(), capacity - 1);
      std::memcpy(text, place.data(), copied);
      text[copied] = '\0';
    }
    return place.size();
  } catch (const std::exception&) {
    return 0;
  }
}
