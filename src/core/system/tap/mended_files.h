// What repair makes anew of the files of a native dump.

#ifndef TENSORTAP_SYSTEM_TAP_MENDED_FILES_H_
#define TENSORTAP_SYSTEM_TAP_MENDED_FILES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/folder.h"
#include "base/status.h"
#include "format/npz/zip_archive.h"
#include "trace/record_row.h"

namespace tensortap::tap {

// Every whole member of a tensors.npz, also those that no row speaks of: from one local header to the next, and, where a header is damaged,
// on with the next one that a row knows. `lost_data` tells, by row, whose values are lost.
std::vector<ZipEntry> find_whole_members(std::span<const std::byte> bytes, std::span<const RecordRow> rows,
                                         const std::vector<bool>& lost_data);

// Replaces records.npy in `folder` by a file with these rows, in one step. Rows whose values are lost are marked. After an error the former
// file is still in place.
Status replace_rows(const Folder& folder, std::span<const RecordRow> rows, const std::vector<bool>& lost_data);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_MENDED_FILES_H_
