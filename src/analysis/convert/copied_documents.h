// The files of a dump with a line for each call (trace/step_documents.h), for its copies.

#ifndef TENSORTAP_CONVERT_COPIED_DOCUMENTS_H_
#define TENSORTAP_CONVERT_COPIED_DOCUMENTS_H_

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "layout/layout_parts.h"
#include "trace/dump_index.h"

namespace tensortap {

// Lines of the file; 0 where there is none.
uint64_t lines_of_document(const DumpIndex& dump, std::string_view name);

// Adds the lines of the steps that the dump has records of. Before the records. Lines that cannot be read are left out. Errors: those of
// KeepsDocuments::add_document(), and kExhausted for a file that is too large.
Status copy_step_documents(const DumpIndex& dump, KeepsDocuments& documents);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_COPIED_DOCUMENTS_H_
