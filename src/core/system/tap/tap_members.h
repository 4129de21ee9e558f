// Looking up the data of rows in the bytes of a tensors.npz, all of it untrusted.

#ifndef TENSORTAP_SYSTEM_TAP_TAP_MEMBERS_H_
#define TENSORTAP_SYSTEM_TAP_TAP_MEMBERS_H_

#include <cstddef>
#include <span>

#include "base/status.h"
#include "format/npz/zip_archive.h"
#include "trace/dump_index.h"
#include "trace/record_row.h"

namespace tensortap::tap {

// The member that holds a row's data: inside `bytes`, of the row's dtype and shape, with an npy header and sizes that say the same. The CRC
// is not compared. Errors: kNotFound when the row has no data, kCorrupt.
Result<ZipEntry> find_member(std::span<const std::byte> bytes, const RecordRow& row);

// The tensor in a member that find_member() gave; it borrows from `bytes`, strings from their owner.
Result<RecordData> member_tensor(std::span<const std::byte> bytes, const RecordRow& row);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_TAP_MEMBERS_H_
