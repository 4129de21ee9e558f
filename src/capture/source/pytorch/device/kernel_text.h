// The text of kernel_code.h and of what it includes, which the build puts into the library.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_TEXT_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_TEXT_H_

#include <span>

namespace tensortap::pytorch {

struct KernelText {
  const char* name;  // as it is included
  const char* text;
};

// The first one is kernel_code.h. They live as long as the process.
std::span<const KernelText> kernel_texts();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_TEXT_H_
