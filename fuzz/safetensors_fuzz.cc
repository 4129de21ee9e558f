// Any bytes as a safetensors file: tensors or an error, and every element that is promised can be read.

#include "fuzz_touch.h"
#include "registry/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tensortap::Format* const kFormat = tensortap::find_format("safetensors");
  tensortap::fuzz_decode(*kFormat, data, size);
  return 0;
}
