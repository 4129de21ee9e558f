// Names of files that belong to a dump and hold no tensor (KeepsDocuments::add_document).

#ifndef TENSORTAP_LAYOUT_DOCUMENT_PATH_H_
#define TENSORTAP_LAYOUT_DOCUMENT_PATH_H_

#include <string_view>

namespace tensortap {

// "layer/22377/LmHead_4.json": whether a file may have this path below its dump. Parts that begin with a dot and characters other than
// letters, digits, '_', '-' and '.' are refused.
bool is_document_path(std::string_view path);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_DOCUMENT_PATH_H_
