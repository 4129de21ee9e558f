// The files that are mapped into this process.

#ifndef TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_
#define TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_

#include <string>

namespace tensortap::ggml {

// The path of the file whose content stands at an address; "" = none, or it is not known.
std::string file_mapped_at(const void* address);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_MAPPED_FILES_H_
